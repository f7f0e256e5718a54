#!/bin/sh
# The page's tests need a browser: `need-browser.sh chromium` or `need-browser.sh firefox-esr`. Debian's is installed
# where there is none and we may.
set -e
name=$1
variable=$(echo "${name%-esr}" | tr a-z A-Z)
eval "chosen=\${$variable:-/usr/bin/$name}"
if [ -x "$chosen" ]; then exit 0; fi
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  apt-get update -qq && apt-get install -y -qq --no-install-recommends "$name" fonts-dejavu-core >/dev/null
  exit 0
fi
echo "no $name found: install it (Debian: apt-get install $name), or name one with $variable=/path/to/it" >&2
exit 1
