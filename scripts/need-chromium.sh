#!/bin/sh
# The page's tests need a Chromium. Debian's is installed where there is none and we may.
set -e
if [ -x "${CHROMIUM:-/usr/bin/chromium}" ]; then exit 0; fi
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
  exit 0
fi
echo "no Chromium found: install it (Debian: apt-get install chromium), or name one with CHROMIUM=/path/to/chromium" >&2
exit 1
