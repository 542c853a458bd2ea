// Runs CUDA kernels on a CPU, one block after the other: threads are fibers that meet at barriers.
//
// Owns what the emitted sources need of CUDA. It checks what a kernel computes and that its
// threads meet where they should, not how fast it is.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__
#define __shared__ static

struct Index {
    unsigned x, y, z;
};
static Index threadIdx, blockIdx, blockDim, gridDim;
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
// An address of any type.
struct emulated_any {
    void* at;
    template <class T>
    operator T*() const {
        return (T*)at;
    }
};
static uint4 emulated_shared[(256 << 10) / 16];

namespace emulator {
enum State { READY, AT_BLOCK, AT_WARP, DONE };
struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    State state;
    Index thread;
};
static std::vector<Fiber> fibers(1024);
static ucontext_t scheduler;
static unsigned current, count;
static const std::function<void()>* body;
static uint64_t slots[32][32][8];

static void wait(State at) {
    fibers[current].state = at;
    swapcontext(&fibers[current].context, &scheduler);
}
static void start() {
    (*body)();
    fibers[current].state = DONE;
}
// Lets those go on who all wait for each other; false if nobody can.
static bool release() {
    bool any = false;
    for (unsigned warp = 0; warp < count; warp += 32) {
        bool all = true, some = false;
        for (unsigned i = warp; i < warp + 32 && i < count; i++) {
            all &= fibers[i].state == AT_WARP || fibers[i].state == DONE;
            some |= fibers[i].state == AT_WARP;
        }
        for (unsigned i = warp; all && some && i < warp + 32 && i < count; i++)
            if (fibers[i].state == AT_WARP) fibers[i].state = READY, any = true;
    }
    bool all = true, some = false;
    for (unsigned i = 0; i < count; i++) {
        all &= fibers[i].state == AT_BLOCK || fibers[i].state == DONE;
        some |= fibers[i].state == AT_BLOCK;
    }
    for (unsigned i = 0; all && some && i < count; i++)
        if (fibers[i].state == AT_BLOCK) fibers[i].state = READY, any = true;
    return any;
}
static void block() {
    for (unsigned i = 0; i < count; i++) {
        Fiber& fiber = fibers[i];
        fiber.stack.resize(64 << 10);
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = &scheduler;
        fiber.state = READY;
        fiber.thread = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
        makecontext(&fiber.context, start, 0);
    }
    for (;;) {
        bool done = true;
        for (current = 0; current < count; current++) {
            if (fibers[current].state != READY) continue;
            threadIdx = fibers[current].thread;
            swapcontext(&scheduler, &fibers[current].context);
        }
        for (unsigned i = 0; i < count; i++) done &= fibers[i].state == DONE;
        if (done) return;
        if (!release()) {
            fprintf(stderr, "the threads of a block wait for each other in different places\n");
            abort();
        }
    }
}
static void launch(Index grid, Index threads, size_t shared, std::function<void()> kernel) {
    if (shared > sizeof emulated_shared) abort();
    gridDim = grid;
    blockDim = threads;
    count = threads.x * threads.y * threads.z;
    body = &kernel;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = {x, y, z};
                // Nothing may depend on what an earlier block left there.
                memset(emulated_shared, 0xa5, shared);
                block();
            }
}
// Every lane of a warp hands in words and sees those of all.
static uint64_t (*exchange(const void* value, size_t bytes))[8] {
    unsigned warp = current / 32, lane = current % 32;
    memcpy(slots[warp][lane], value, bytes);
    wait(AT_WARP);
    return slots[warp];
}
template <class T>
static T lane_value(T value, unsigned lane) {
    uint64_t(*words)[8] = exchange(&value, sizeof(T));
    T result;
    memcpy(&result, words[lane % 32], sizeof(T));
    wait(AT_WARP);
    return result;
}
} // namespace emulator

static void __syncthreads() { emulator::wait(emulator::AT_BLOCK); }
static void __syncwarp() { emulator::wait(emulator::AT_WARP); }
static void __threadfence() {}
template <class T>
static T __shfl_sync(unsigned, T value, int lane) {
    return emulator::lane_value(value, lane);
}
template <class T>
static T __shfl_xor_sync(unsigned, T value, int mask) {
    return emulator::lane_value(value, emulator::current % 32 ^ mask);
}
template <class T>
static T __shfl_up_sync(unsigned, T value, int by) {
    int lane = emulator::current % 32;
    return emulator::lane_value(value, lane < by ? lane : lane - by);
}
template <class To, class From>
static To emulated_bits(From from) {
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
static float __uint_as_float(unsigned bits) { return emulated_bits<float>(bits); }
static unsigned __float_as_uint(float value) { return emulated_bits<unsigned>(value); }
static double __longlong_as_double(long long bits) { return emulated_bits<double>(bits); }
static long long __double_as_longlong(double value) { return emulated_bits<long long>(value); }
static int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(x); }
static int __ffsll(long long x) { return __builtin_ffsll(x); }
template <class T>
static T atomicAdd(T* at, T by) {
    T before = *at;
    *at += by;
    return before;
}

// The functions of emitted sources that are machine instructions there.
static void copy_async_16(void* to, const void* from, bool valid) {
    if (valid)
        memcpy(to, from, 16);
    else
        memset(to, 0, 16);
}
static void commit_copies() {}
template <int GROUPS>
static void wait_for_copies() {}
static void split_tf32(float value, unsigned& high, unsigned& low) {
    high = __float_as_uint(value) & 0xffffe000u;
    low = __float_as_uint(value - __uint_as_float(high));
}
static void mma_tf32(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    unsigned mine[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
    uint64_t(*words)[8] = emulator::exchange(mine, sizeof mine);
    auto fragment = [&](unsigned lane, unsigned at) {
        unsigned bits;
        memcpy(&bits, (char*)words[lane] + 4 * at, 4);
        return (double)__uint_as_float(bits & 0xffffe000u);
    };
    unsigned lane = emulator::current % 32;
    for (unsigned i = 0; i < 4; i++) {
        unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        double total = sum[i];
        for (unsigned k = 0; k < 8; k++)
            total += fragment(row % 8 * 4 + k % 4, row / 8 + k / 4 * 2) * fragment(column * 4 + k % 4, 4 + k / 4);
        sum[i] = (float)total;
    }
    emulator::wait(emulator::AT_WARP);
}
