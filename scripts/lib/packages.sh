# SPDX-License-Identifier: GPL-2.0-only
# The build packages Rowan needs from the machine's own distribution, and their installation.
# Sourced by scripts/setup. Only what is missing is installed; a complete machine needs no root.

ROWAN_BUILD_PACKAGES="
  cmake ninja-build ccache g++ make pkg-config git python3 patchelf xz-utils ca-certificates procps
  libfmt-dev libspdlog-dev libboost-dev libboost-program-options-dev liburing-dev libaio-dev
  libxxhash-dev libgtest-dev libbenchmark-dev"

# Prints the packages of the list that are not installed, one line, separated by blanks.
rowan_missing_packages() {
  local package missing=""
  for package in $ROWAN_BUILD_PACKAGES $(rowan_keyring_package); do
    if ! dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii'; then
      missing="$missing $package"
    fi
  done
  echo "${missing# }"
}

# The private MySQL comes from the Debian archive: its keyring must be there, on Ubuntu too.
rowan_keyring_package() {
  if [ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ]; then
    echo debian-archive-keyring
  fi
}

rowan_root_prefix() {
  if [ "$(id -u)" = 0 ]; then
    echo "env"
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    echo "sudo env"
  elif command -v sudo >/dev/null 2>&1 && [ -t 0 ]; then
    echo "sudo env"
  fi
}

rowan_install_packages() {
  local missing as_root log
  if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: this needs a Debian or Ubuntu machine: apt-get or dpkg-query is missing." >&2
    return 1
  fi
  missing="$(rowan_missing_packages)"
  if [ -z "$missing" ]; then
    return 0
  fi
  as_root="$(rowan_root_prefix)"
  if [ -z "$as_root" ]; then
    echo "setup: installing missing build packages needs root; missing: $missing" >&2
    return 1
  fi
  log="$1"
  mkdir -p "$(dirname "$log")"
  echo "setup: installing build packages: $missing" >&2
  if ! { $as_root DEBIAN_FRONTEND=noninteractive apt-get -qq update &&
         $as_root DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
           install $missing; } >"$log" 2>&1 </dev/null; then
    echo "setup: apt-get could not install the build packages; its last lines:" >&2
    tail -n 15 "$log" >&2
    return 1
  fi
}
