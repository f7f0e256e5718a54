// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  offeredTools,
  promptMessages,
  promptParameters,
  responseMessages,
} from "../../../agentdbg/ui_static/model/details/messages.js";

const PNG = "iVBORw0KGgo=";

/** @param {import("../../../agentdbg/ui_static/model/details/messages.js").Message[]} messages */
const shape = (messages) => messages.map((one) => [one.role, ...one.parts.map((part) => part.type)]);

test("a plain prompt is the user speaking, a plain answer the assistant", () => {
  assert.deepEqual(promptMessages("Say hello."), [
    { role: "user", name: null, parts: [{ type: "text", text: "Say hello." }] },
  ]);
  assert.deepEqual(shape(responseMessages("Hello.")), [["assistant", "text"]]);
  assert.deepEqual(responseMessages(null), []);
});

test("OpenAI chat: calls are read out of their JSON text, results keep the id of their call", () => {
  const messages = promptMessages([
    { role: "developer", content: "Be brief." },
    { role: "user", content: "Book it." },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c1", type: "function", function: { name: "book", arguments: '{"seats": 2}' } }],
    },
    { role: "tool", tool_call_id: "c1", name: "book", content: "Error: full" },
  ]);

  assert.deepEqual(shape(messages), [
    ["system", "text"],
    ["user", "text"],
    ["assistant", "call"],
    ["tool", "result"],
  ]);
  assert.deepEqual(messages[2].parts[0], { type: "call", id: "c1", name: "book", args: { seats: 2 } });
  assert.deepEqual(messages[3].parts[0], {
    type: "result",
    callId: "c1",
    name: "book",
    value: "Error: full",
    failed: false,
  });
});

test("an answer whose role goes without saying is its content", () => {
  const blocks = [
    { type: "thinking", thinking: "First the picture." },
    { type: "text", text: "They differ." },
    { type: "tool_use", id: "t1", name: "look", input: {} },
  ];

  assert.deepEqual(shape(responseMessages({ content: blocks, stop_reason: "tool_use" })), [
    ["assistant", "thinking", "text", "call"],
  ]);
  assert.deepEqual(shape(responseMessages({ content: "Yes.", usage: { output_tokens: 2 } })), [["assistant", "text"]]);
});

test("an object that the program asked for stays what it is, even with something called content", () => {
  for (const answer of [
    { title: "Report", content: "Text" },
    { content: [{ price: 3 }] },
    { content: [] },
    { content: { a: 1 } },
  ])
    assert.deepEqual(shape(responseMessages(answer)), [["assistant", "other"]]);
});

test("a chat completion is its message, with text and refusal and calls", () => {
  const response = {
    choices: [
      {
        message: {
          role: "assistant",
          content: "Sure.",
          refusal: "Not that.",
          tool_calls: [{ id: "c", function: { name: "f", arguments: "not json" } }],
        },
      },
    ],
  };
  const [answer] = responseMessages(response);

  assert.deepEqual(answer.parts, [
    { type: "text", text: "Sure." },
    { type: "refusal", text: "Not that." },
    { type: "call", id: "c", name: "f", args: "not json" },
  ]);
});

test("media of which only the address or the name is known is one line that says so", () => {
  const said = [
    { type: "image_url", image_url: { url: "https://a.b/c.jpg" } },
    { type: "input_image", image_url: "https://a.b/d.jpg" },
    { type: "video_url", video_url: { url: "https://a.b/e.mp4" } },
    { type: "document", source: { type: "url", url: "https://a.b/f.pdf" }, title: "F" },
    { type: "file", file: { filename: "report.pdf", file_data: "data:application/pdf;base64,JVBERi0" } },
    { type: "input_file", file_id: "file-9" },
  ];
  const [message] = promptMessages([{ role: "user", content: said }]);
  assert.deepEqual(
    message.parts.map((part) => (part.type === "missing" ? part.text : part.type)),
    [
      "Image not loaded: https://a.b/c.jpg",
      "Image not loaded: https://a.b/d.jpg",
      "Video not loaded: https://a.b/e.mp4",
      "Document not loaded: https://a.b/f.pdf",
      "File not shown: report.pdf",
      "File not shown: file-9",
    ],
  );
  assert.equal(promptMessages([{ role: "user", content: [{ type: "file" }] }])[0].parts[0].type, "other");
});

test("Anthropic: system beside the messages, blocks as parts, a result in the user's name is the tool's", () => {
  const prompt = {
    system: [{ type: "text", text: "You look." }],
    max_tokens: 1024,
    messages: [
      {
        role: "user",
        content: [
          { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
          { type: "text", text: "What?" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Zoom." },
          { type: "tool_use", id: "t1", name: "zoom", input: { factor: 2 } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "t1", is_error: true, content: [{ type: "text", text: "too large" }] },
        ],
      },
    ],
  };
  const messages = promptMessages(prompt);

  assert.deepEqual(shape(messages), [
    ["system", "text"],
    ["user", "image", "text"],
    ["assistant", "thinking", "call"],
    ["tool", "result"],
  ]);
  assert.deepEqual(messages[3].parts[0], {
    type: "result",
    callId: "t1",
    name: null,
    value: "too large",
    failed: true,
  });
  assert.deepEqual(promptParameters(prompt), { max_tokens: 1024 });
});

test("OpenAI Responses: items of one answer are one turn", () => {
  const response = {
    output: [
      { type: "reasoning", summary: [{ type: "summary_text", text: "Think first." }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Done." }] },
      { type: "function_call", call_id: "c9", name: "save", arguments: '{"path":"a"}' },
    ],
  };
  const prompt = {
    instructions: "Be kind.",
    input: [
      { role: "user", content: "Go." },
      { type: "function_call_output", call_id: "c9", output: "saved" },
    ],
  };

  assert.deepEqual(shape(responseMessages(response)), [["assistant", "thinking", "text", "call"]]);
  assert.deepEqual(shape(promptMessages(prompt)), [
    ["system", "text"],
    ["user", "text"],
    ["tool", "result"],
  ]);
});

test("Gemini contents, function calls and candidates are read", () => {
  const prompt = {
    systemInstruction: { parts: [{ text: "Hm." }] },
    contents: [
      { role: "user", parts: [{ text: "Hi" }] },
      { role: "model", parts: [{ functionCall: { name: "f", args: { a: 1 } } }] },
    ],
  };

  assert.deepEqual(shape(promptMessages(prompt)), [
    ["system", "text"],
    ["user", "text"],
    ["assistant", "call"],
  ]);
  assert.deepEqual(
    shape(responseMessages({ candidates: [{ content: { role: "model", parts: [{ text: "Hi." }] } }] })),
    [["assistant", "text"]],
  );
});

test("LangChain messages are read, also serialised, nested and doubled calls once", () => {
  const prompt = [
    [
      { lc: 1, type: "constructor", id: ["langchain", "schema", "HumanMessage"], kwargs: { content: "Hi" } },
      {
        type: "ai",
        content: [{ type: "tool_use", id: "x", name: "f", input: {} }],
        tool_calls: [{ id: "x", name: "f", args: {} }],
      },
    ],
  ];
  const response = { generations: [[{ text: "Hello", message: { type: "ai", content: "Hello" } }]] };

  assert.deepEqual(shape(promptMessages(prompt)), [
    ["user", "text"],
    ["assistant", "call"],
  ]);
  assert.deepEqual(shape(responseMessages(response)), [["assistant", "text"]]);
});

test("pydantic-ai parts speak by their kind", () => {
  const prompt = [
    {
      kind: "request",
      parts: [
        { part_kind: "system-prompt", content: "S" },
        { part_kind: "user-prompt", content: "U" },
      ],
    },
    { kind: "response", parts: [{ part_kind: "tool-call", tool_name: "f", args: "{}", tool_call_id: "1" }] },
    { kind: "request", parts: [{ part_kind: "tool-return", tool_name: "f", content: 4, tool_call_id: "1" }] },
  ];

  assert.deepEqual(shape(promptMessages(prompt)), [
    ["system", "text"],
    ["user", "text"],
    ["assistant", "call"],
    ["tool", "result"],
  ]);
});

test("what nobody knows is kept whole", () => {
  // An unreadable conversation must still show everything that was stored.
  const strange = { temperature: 3, weird: [1, 2] };

  assert.deepEqual(promptMessages(strange)[0].parts, [{ type: "other", label: null, value: strange }]);
  assert.deepEqual(promptMessages([{ type: "hologram", beam: 1 }])[0].parts, [
    { type: "other", label: "hologram", value: { type: "hologram", beam: 1 } },
  ]);
  assert.deepEqual(shape(responseMessages(42)), [["assistant", "other"]]);
});

test("hostile shapes raise nothing", () => {
  const cases = [
    [null],
    [undefined, 1],
    [[]],
    [{}],
    { messages: null },
    { messages: [null, 3, "x"] },
    { choices: [null] },
    { role: "constructor", content: { type: "__proto__" } },
    [{ type: "toString", content: "x" }],
    { tool_calls: [null, {}], role: "assistant" },
  ];
  for (const value of cases) {
    assert.ok(Array.isArray(promptMessages(value)));
    assert.ok(Array.isArray(responseMessages(value)));
  }
});

test("offered tools are found in every provider's form", () => {
  assert.deepEqual(
    offeredTools({
      tools: [
        { type: "function", function: { name: "a", description: "A." } },
        { name: "b", input_schema: { type: "object" } },
        { function_declarations: [{ name: "c" }] },
        "d",
      ],
    }).map((tool) => tool.name),
    ["a", "b", "c", "d"],
  );
  assert.deepEqual(offeredTools({ tools: "none" }), []);
});

test("what a model thinks aloud before its answer is thinking, a tag in the midst of a text is text", () => {
  const [answer] = responseMessages("<think>\nTwo calendars.\n</think>\n\nThey share a label.");
  assert.deepEqual(answer.parts, [
    { type: "thinking", text: "Two calendars." },
    { type: "text", text: "They share a label." },
  ]);
  assert.deepEqual(shape(responseMessages("Write <think>…</think> around it.")), [["assistant", "text"]]);
  assert.deepEqual(shape(responseMessages("<think>never closed")), [["assistant", "text"]]);
});
