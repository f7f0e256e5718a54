#!/bin/sh
# Make the page's two fonts anew: the letters of Western European languages and the page's signs, weights 400 to 600.
# Inter keeps kerning, contextual forms, tabular figures and capital forms; the mono keeps no ligatures, so that `!=`
# and `->` look as typed. Other scripts fall back to the reader's own fonts.
set -e
here=$(dirname "$0")/../agentdbg/ui_static/fonts
work=$(mktemp -d)
cd "$work"
npm install --silent inter-ui@4.1 @fontsource-variable/jetbrains-mono@5.3
python3 -m venv .venv && .venv/bin/pip install -q fonttools brotli
letters='U+20-7E,U+A0-FF,U+152,U+153,U+2013,U+2014,U+2018,U+2019,U+201C,U+201D,U+201E,U+2022,U+2026,U+20AC,U+2212,U+2190-2193,U+21B5,U+2248,U+2260,U+2264,U+2265'
inter=node_modules/inter-ui
mono=node_modules/@fontsource-variable/jetbrains-mono
.venv/bin/fonttools varLib.instancer -q -o inter.ttf $inter/variable/InterVariable.woff2 wght=400:600 opsz=14
.venv/bin/pyftsubset inter.ttf --unicodes="$letters" --flavor=woff2 --layout-features=kern,calt,tnum,case \
  --output-file=inter.woff2
.venv/bin/fonttools varLib.instancer -q -o mono.ttf $mono/files/jetbrains-mono-latin-wght-normal.woff2 wght=400:600
.venv/bin/pyftsubset mono.ttf --unicodes="$letters" --flavor=woff2 --layout-features='' \
  --output-file=jetbrains-mono.woff2
cd "$OLDPWD"
cp "$work"/inter.woff2 "$work"/jetbrains-mono.woff2 "$here"
cp "$work/$inter/LICENSE.txt" "$here/inter-LICENSE.txt"
cp "$work/$mono/LICENSE" "$here/jetbrains-mono-LICENSE.txt"
rm -r "$work"
