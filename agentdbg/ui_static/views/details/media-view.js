// @ts-check
/** Pictures and sounds that the payload itself holds; nothing is ever fetched for them. */
import { h } from "../../core/dom.js";
import { exact, size } from "../../model/details/format.js";
import { visibleText } from "../../model/details/text.js";

/** @param {{ kind: "image" | "audio", url: string, mediaType: string, bytes: number }} media */
export function mediaView(media) {
  return media.kind === "image" ? imageView(media) : audioView(media);
}

/**
 * @param {{ url: string, mediaType: string, bytes: number }} image
 * @returns {HTMLElement}
 */
export function imageView(image) {
  const picture = h("img", {
    class: "picture",
    alt: `${image.mediaType}, ${size(image.bytes)}`,
    loading: "lazy",
    decoding: "async",
  });
  const caption = h("span", null, `${image.mediaType.replace("image/", "")} · ${size(image.bytes)}`);
  const full = h("button", { type: "button", class: "link", "aria-pressed": "false" }, "Full size");
  full.addEventListener("click", () => {
    const wanted = full.getAttribute("aria-pressed") !== "true";
    full.setAttribute("aria-pressed", String(wanted));
    full.textContent = wanted ? "Smaller" : "Full size";
    figure.toggleAttribute("data-full", wanted);
  });
  const figure = h("figure", { class: "media" }, picture, h("figcaption", null, caption, full));
  picture.addEventListener("load", () => {
    caption.textContent = `${image.mediaType.replace("image/", "")} · ${exact(picture.naturalWidth)} × ${exact(picture.naturalHeight)} · ${size(image.bytes)}`;
    full.hidden = picture.naturalWidth <= picture.clientWidth;
  });
  picture.addEventListener("error", () =>
    figure.replaceWith(missingMedia(`Image that cannot be shown (${image.mediaType}, ${size(image.bytes)})`)),
  );
  picture.src = image.url;
  return figure;
}

/**
 * @param {{ url: string, mediaType: string, bytes: number }} sound
 * @returns {HTMLElement}
 */
export function audioView(sound) {
  const player = h("audio", {
    controls: true,
    preload: "metadata",
    "aria-label": `${sound.mediaType}, ${size(sound.bytes)}`,
  });
  player.src = sound.url;
  const words = `${sound.mediaType.replace("audio/", "")} · ${size(sound.bytes)}`;
  return h("figure", { class: "media" }, player, h("figcaption", null, words));
}

/** What would be there if it had been recorded. @param {string} text @param {string} [title] */
export function missingMedia(text, title) {
  return h(
    "span",
    { class: "no-media", title: title === undefined ? null : visibleText(title.slice(0, 300)) },
    visibleText(text),
  );
}
