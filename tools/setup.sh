# shellcheck shell=sh disable=SC2034,SC2154
# What tools/quickstart and tools/check have in common: sourced by them with $root set to the project's folder.
# Everything that is needed from outside is declared here (and in meson.build), once.

# Only the system's OpenCL, not one that a toolkit put in the compiler's way.
unset CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH PKG_CONFIG_PATH PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
build=$root/build

# What building and testing takes: how to see whether it is there | Debian, Ubuntu | dnf | pacman | zypper
needs_to_build='compiler|gcc libc6-dev|gcc glibc-devel|gcc|gcc glibc-devel
command meson|meson|meson|meson|meson
command ninja|ninja-build|ninja-build|ninja|ninja
command pkg-config|pkg-config|pkgconf-pkg-config|pkgconf|pkg-config
command python3|python3|python3|python|python3
module OpenCL|ocl-icd-opencl-dev|ocl-icd-devel|ocl-icd|ocl-icd-devel
header CL/cl.h|opencl-headers|opencl-headers|opencl-headers|opencl-headers
module clblast|libclblast-dev|clblast-devel|clblast|clblast-devel
module jansson|libjansson-dev|jansson-devel|jansson|libjansson-devel
module libmd|libmd-dev|libmd-devel|libmd|libmd-devel
module inih|libinih-dev|inih-devel|libinih|libinih-devel
header Random123/philox.h|librandom123-dev|Random123-devel|random123 (AUR)|Random123-devel
module zlib|zlib1g-dev|zlib-devel|zlib|zlib-devel
module libarchive|libarchive-dev|libarchive-devel|libarchive|libarchive-devel
module libpng|libpng-dev|libpng-devel|libpng|libpng16-devel
module libjpeg|libjpeg62-turbo-dev|libjpeg-turbo-devel|libjpeg-turbo|libjpeg8-devel
module libcurl|libcurl4-openssl-dev|libcurl-devel|curl|libcurl-devel
module cmocka|libcmocka-dev|libcmocka-devel|cmocka|libcmocka-devel'
# An OpenCL device that every computer has.
needs_pocl='icd libpocl|pocl-opencl-icd|pocl|pocl|pocl'

die()
{
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# have KIND NAME: whether a need of the tables is met.
have()
{
    case $1 in
    command) command -v "$2" >/dev/null 2>&1 ;;
    compiler) echo 'int main(void) { return 0; }' | ${CC:-cc} -x c -o /dev/null - 2>/dev/null ;;
    header) echo "#include <$2>" | ${CC:-cc} -x c -E -o /dev/null - 2>/dev/null ;;
    module) pkg-config --exists "$2" 2>/dev/null ;;
    package) [ "$(dpkg-query -W -f '${db:Status-Status}' "$2" 2>/dev/null)" = installed ] ;;
    icd) grep -qs "$2" /etc/OpenCL/vendors/*.icd ;;
    *) die "no such kind of need: $1" ;;
    esac
}

# missing COLUMN TABLE: the packages (a column of the table, from 2) that would meet the needs not met.
missing()
{
    printf '%s\n' "$2" | while IFS='|' read -r test debian dnf pacman zypper; do
        # Two words, or one and nothing.
        # shellcheck disable=SC2086
        have $test && continue
        case $1 in
        2) printf '%s ' "$debian" ;;
        3) printf '%s ' "$dnf" ;;
        4) printf '%s ' "$pacman" ;;
        5) printf '%s ' "$zypper" ;;
        esac
    done
}

# apt ARGUMENTS: apt-get as root, by sudo where we are not; never asks.
apt()
{
    set -- env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"
    if [ "$(id -u)" = 0 ]; then
        "$@" </dev/null
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        die "this needs to be run as root, and there is no sudo: $*"
    fi
}

# install_missing TABLE: says what is missing and installs it; ends the script where it can't.
install_missing()
{
    packages=$(missing 2 "$1")
    if [ -z "$packages" ]; then
        return 0
    fi
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "These packages are missing; please install them and start again:"
        printf '    dnf install %s\n' "$(missing 3 "$1")"
        printf '    pacman -S %s\n' "$(missing 4 "$1")"
        printf '    zypper install %s\n' "$(missing 5 "$1")"
        exit 1
    fi
    echo "installing: $packages"
    mkdir -p "$build"
    if [ -z "$apt_updated" ]; then
        apt update >"$build/apt.log" 2>&1 || echo "apt-get update failed; trying with the lists that are there"
        apt_updated=yes
    fi
    # Package names, one word each.
    # shellcheck disable=SC2086
    apt install -y --no-install-recommends $packages >>"$build/apt.log" 2>&1 || {
        tail -n 20 "$build/apt.log" >&2
        die "apt-get could not install: $packages"
    }
    still=$(missing 2 "$1")
    [ -z "$still" ] || die "installed, but not found afterwards: $still"
}
apt_updated=

# drop_foreign_loaders: takes folders with an OpenCL loader of their own (a CUDA toolkit's) out of LD_LIBRARY_PATH.
drop_foreign_loaders()
{
    [ -n "${LD_LIBRARY_PATH-}" ] || return 0
    kept=
    while IFS= read -r folder; do
        for loader in "$folder"/libOpenCL.so*; do
            if [ -e "$loader" ]; then
                echo "not using the OpenCL loader in $folder (LD_LIBRARY_PATH)"
                folder=
                break
            fi
        done
        [ -z "$folder" ] || kept=${kept:+$kept:}$folder
    done <<EOF
$(printf '%s\n' "$LD_LIBRARY_PATH" | tr : '\n')
EOF
    export LD_LIBRARY_PATH="$kept"
}

# configure FOLDER OPTIONS: meson setup, once.
configure()
{
    folder=$1
    shift
    if [ -e "$folder" ] && [ ! -w "$folder" ]; then
        die "$folder cannot be written (made by another user?): remove it and start again"
    fi
    [ -f "$folder/build.ninja" ] || meson setup "$@" "$folder" "$root"
}

# find_device: lists the devices; where there is none to use, installs PoCL. Exit code 3 of `claret devices` says so.
find_device()
{
    code=0
    listed=$("$build/src/cli/claret" devices 2>&1) || code=$?
    if [ $code = 3 ] && ! have icd libpocl; then
        echo "No usable OpenCL device: PoCL makes one of the processor."
        install_missing "$needs_pocl"
        code=0
        listed=$("$build/src/cli/claret" devices 2>&1) || code=$?
    fi
    printf '%s\n' "$listed"
    [ $code = 0 ] || die "no usable OpenCL device (see above)"
}

# seconds_since START: for "took 12 s".
seconds_since()
{
    echo $(($(date +%s) - $1))
}

drop_foreign_loaders
