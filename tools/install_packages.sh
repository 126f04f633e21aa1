#!/usr/bin/env bash
# Installs the Debian 12 packages of the given groups; does nothing when they are all there.
#
#   tools/install_packages.sh [build] [test] [demo]      default: build
#   tools/install_packages.sh --list [GROUP]...          only print what is needed
#
# This is the only list of packages: README, test.sh and demo.sh all come here.
set -euo pipefail

packages_build=(
  build-essential cmake ninja-build pkg-config ccache
  libfmt-dev libspdlog-dev                       # messages
  libisal-dev                                    # CRC-32C
  libdnnl-dev                                    # convolutions and dense layers on the CPU
  libopenmpi-dev openmpi-bin                     # several processes
  libjpeg62-turbo-dev libpng-dev zlib1g-dev      # pictures, .gz
  libprotobuf-dev protobuf-compiler              # tf.Example, TensorBoard, PJRT compile options
  nlohmann-json3-dev libtomlplusplus-dev libcli11-dev
  libgtest-dev                                   # the presets include the unit tests
)
packages_test=(
  clang clang-format clang-tidy libomp-dev       # the second compiler, style
  shellcheck python3 python3-venv                # checks, real readers from PyPI
)
packages_demo=(dataset-fashion-mnist)             # prepare's tests read it too

die() {
  echo "install_packages.sh: $*" >&2
  exit 1
}

is_installed() {
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@"
}

# Packages of "$@" that the package lists on this machine do not know.
unknown_packages() {
  local package
  for package in "$@"; do
    [[ -n $(apt-cache show --no-all-versions "$package" 2>/dev/null) ]] || echo "$package"
  done
}

list_only=no
wanted=()
groups=0
for argument in "$@"; do
  case $argument in
    build) wanted+=("${packages_build[@]}"); groups=1 ;;
    test) wanted+=("${packages_test[@]}"); groups=1 ;;
    demo) wanted+=("${packages_demo[@]}"); groups=1 ;;
    --list) list_only=yes ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) echo "install_packages.sh: unknown group '$argument' (build, test, demo)" >&2; exit 2 ;;
  esac
done
((groups)) || wanted+=("${packages_build[@]}")

if [[ $list_only == yes ]]; then
  printf '%s\n' "${wanted[@]}"
  exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "install_packages.sh: no apt-get here. Toroid is built from these Debian 12 packages;" >&2
  echo "install their counterparts yourself:" >&2
  printf '  %s\n' "${wanted[@]}" >&2
  exit 1
fi

missing=()
for package in "${wanted[@]}"; do
  is_installed "$package" || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null ||
    die "not root and no sudo; as root, run: apt-get install ${missing[*]}"
  as_root=(sudo)
fi

echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
updated=no
update_lists() {
  apt update || die "apt-get update failed: is the network (or the package mirror) reachable?"
  updated=yes
}

[[ -z $(unknown_packages "${missing[@]}") ]] || update_lists
if ! apt install --no-install-recommends "${missing[@]}"; then
  # Old package lists point at versions that the mirror no longer has.
  [[ $updated == no ]] && update_lists
  if ! apt install --no-install-recommends "${missing[@]}"; then
    mapfile -t unknown < <(unknown_packages "${missing[@]}")
    ((${#unknown[@]} == 0)) ||
      die "not in this system's package lists: ${unknown[*]} (Debian 12 has them)"
    die "apt-get could not install: ${missing[*]} (its own message is above; network? disk full?)"
  fi
fi
