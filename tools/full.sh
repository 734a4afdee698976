# shellcheck shell=sh disable=SC2154
# What `tools/check --full` adds; sourced by tools/check. Wants Debian 12's packages.

needs_full='command clang-15|clang-15
command clang-format|clang-format
command shellcheck|shellcheck
command valgrind|valgrind
package libc6-dbg|libc6-dbg
package oclgrind|oclgrind
package mesa-opencl-icd|mesa-opencl-icd
package libclc-15|libclc-15
package rocm-device-libs|rocm-device-libs'
# Intel's compiler is built for one architecture alone.
[ "$(uname -m)" != x86_64 ] || needs_full="$needs_full
package intel-opencl-icd|intel-opencl-icd"

# ---- style ----

formatting()
{
    find "$root/src" "$root/include" "$root/tests" "$root/tools" -name '*.[ch]' -exec clang-format --dry-run -Werror {} +
}

scripts()
{
    shellcheck -x "$root/tools/quickstart" "$root/tools/check" "$root/tools/setup.sh" "$root/tools/full.sh" "$root/.ci/run"
}

# Each public header by itself, as C and as C++.
headers()
{
    for header in "$root/include/claret/"*.h; do
        for language in 'c -std=c11' 'c++ -std=c++11'; do
            # shellcheck disable=SC2086
            clang-15 -x $language -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$root/include" "$header"
        done
    done
}

# ---- builds ----

# strict NAME OPTIONS: a build without a warning.
strict()
{
    name=$1
    shift
    CC=$name configure "$build-$name" -Dwerror=true "$@"
    ninja -C "$build-$name"
}

sanitized_build()
{
    CC=gcc configure "$build-sanitized" -Db_sanitize=address,undefined -Dbuildtype=debugoptimized
    ninja -C "$build-sanitized"
}

# ---- instruments ----

# Work-groups of 32 keep CLBlast out, whose compilation takes ten minutes under valgrind and shows nothing of ours;
# nor does optimising the kernels.
valgrind_training()
{
    OCL_ICD_VENDORS="$vendors/pocl" POCL_MAX_WORK_GROUP_SIZE=32 POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable \
        valgrind -q --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
        --suppressions="$root/tests/suppressions/valgrind.supp" --error-exitcode=9 \
        "$build/src/cli/claret" train --data shapes --limit-train 16 --limit-test 8 --epochs 1 \
        --out "$build/check/valgrind" --overwrite
}

# oclgrind SETTINGS COMMAND: Oclgrind's exit code says nothing; anything in its log is a failure.
oclgrind()
{
    report=$logs/oclgrind-$(date +%s%N).txt
    rm -f "$report"
    env OCL_ICD_VENDORS="$vendors/oclgrind" OCLGRIND_LOG="$report" OCLGRIND_MAX_ERRORS=20 "$@"
    if [ -s "$report" ]; then
        cat "$report"
        return 1
    fi
}

# ---- a second platform ----

on_both()
{
    OCL_ICD_VENDORS="$vendors/both" RUSTICL_ENABLE=llvmpipe "$@"
}

# One name a line: the usable devices; there must be one of PoCL's and one of rusticl's.
both_listed()
{
    on_both "$build/src/cli/claret" devices --json >"$logs/both.json" 2>"$logs/both.txt"
    python3 -c '
import json, sys
listed = json.load(open(sys.argv[1]))
platforms = {platform["index"]: platform["name"] for platform in listed["platforms"]}
usable = [device for device in listed["devices"] if device["usable"]]
print("\n".join(device["name"] for device in usable))
names = [platforms[device["platform"]] for device in usable]
sys.exit(not ("rusticl" in names and "Portable Computing Language" in names))
' "$logs/both.json"
}

# ---- vendors' compilers ----

# All sizes; the list of the kernels' specialisations is for the vendors' compilers.
op_tests()
{
    list=$build/check/kernels.txt
    rm -f "$list"
    CLARET_TEST_KERNEL_LIST="$list" OCL_ICD_VENDORS="$vendors/pocl" "$build/tests/test_ops"
    for width in 1 4 8 16; do # those that claret-bench alone uses
        echo "bench bench_fma -cl-std=CL1.2 -DWIDTH=$width"
    done >>"$list"
}

vendors_compile()
{
    require=--require
    [ "$(uname -m)" = x86_64 ] || require=
    # shellcheck disable=SC2086
    python3 "$root/tools/vendor_check.py" "$build/check/kernels.txt" "$root/tools/gpu_kernels.txt" $require \
        --report "$build/check/vendors.txt" --markdown "$build/check/vendors.md"
}

# ---- lanes: side by side, each about as long ----

sizes_lane()
{
    run "op tests, all sizes" op_tests
    run "NVIDIA, AMD, Intel compilers" vendors_compile
}

oclgrind_lane()
{
    run "Oclgrind: uninitialised memory" oclgrind OCLGRIND_UNINITIALIZED=1 OCLGRIND_MAX_WGSIZE=32 \
        OCLGRIND_BUILD_OPTIONS=-cl-opt-disable "$build/tests/test_ops" --small --once
    run "Oclgrind: races, accesses, API" oclgrind OCLGRIND_DATA_RACES=1 OCLGRIND_CHECK_API=1 \
        "$build/tests/test_ops" --small --once
    run "steps, all sizes" env OCL_ICD_VENDORS="$vendors/pocl" "$build/tests/test_steps"
}

platforms_lane()
{
    run "both listed" both_listed
    if [ -n "$long" ]; then
        # What a driver does wrong with large sizes (loops that it ends) does not show in small ones.
        run "rusticl: op tests, all sizes" on_both "$build/tests/test_ops" --once --platform rusticl
    else
        run "rusticl: op tests" on_both "$build/tests/test_ops" --small --once --platform rusticl
    fi
    IFS='
'
    # One name a line.
    # shellcheck disable=SC2046
    set -- $(cat "$logs/both-listed.log")
    unset IFS
    for device; do
        run "$device: 50 golden steps" on_both "$build/tests/test_golden" simplecnn 50 "$device"
    done
    run "address and undefined: op tests" env OCL_ICD_VENDORS="$vendors/pocl" \
        "$build-sanitized/tests/test_ops" --small --once
    run "address and undefined: golden" env OCL_ICD_VENDORS="$vendors/pocl" \
        "$build-sanitized/tests/test_golden" nesterov
    run "valgrind: a short training" valgrind_training
    run "all networks beside PyTorch" env OCL_ICD_VENDORS="$vendors/pocl" "$build/tests/test_zoo" --all
}

full()
{
    echo "== full: style"
    run "clang-format" formatting
    run "shellcheck" scripts
    run "includes" python3 "$root/tests/check_includes.py" "$root"
    run "public headers alone, C and C++" headers
    echo "== full: compilers"
    run "gcc, no warning" strict gcc
    run "clang, no warning" strict clang-15
    suites "clang: host suite" "$build-clang-15" --suite host
    echo "== full: sanitizers"
    run "address and undefined: build" sanitized_build
    suites "address and undefined: host and cli suites" "$build-sanitized" --suite host --suite cli
    echo "== full: all sizes and vendors' compilers; Oclgrind; rusticl beside PoCL"
    lane sizes sizes_lane
    lane oclgrind oclgrind_lane
    lane platforms platforms_lane
    join_lanes sizes oclgrind platforms
}

install_missing "$needs_full"
install_missing "$needs_pocl"

# Sets of drivers, so that what else is installed does not matter.
vendors=$build/check/vendors
mkdir -p "$vendors/pocl" "$vendors/both" "$vendors/oclgrind"
cat /etc/OpenCL/vendors/pocl.icd >"$vendors/pocl/pocl.icd"
cat /etc/OpenCL/vendors/pocl.icd >"$vendors/both/pocl.icd"
echo libRusticlOpenCL.so.1 >"$vendors/both/rusticl.icd"
echo /usr/lib/oclgrind/liboclgrind-rt-icd.so >"$vendors/oclgrind/oclgrind.icd"
# Drivers leak by themselves; the list of what is overlooked names them alone.
export LSAN_OPTIONS="suppressions=$root/tests/suppressions/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
full
