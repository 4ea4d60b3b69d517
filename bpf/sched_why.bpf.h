/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why (WS_WHY) is a second object of the same source: without it nothing of this is loaded, or lies
 * in the programs that are. There WHY is true, elsewhere what it guards is never compiled into
 * anything.
 */
#ifndef WS_SCHED_WHY_BPF_H
#define WS_SCHED_WHY_BPF_H

#ifdef WS_WHY
#define WHY true
#define WHY_SLOW_BYTES sizeof(struct abi_slow_why)
#include "slow_ring.bpf.h"
#define BESIDE static __noinline int /* its frame is not part of the switch's own */
static __always_inline bool by_record(void);
#include "why_cpu.bpf.h"
#include "why.bpf.h"
#else
#define WHY false
#define BESIDE static __always_inline int
#define WHY_SLOW_BYTES sizeof(struct abi_slow)
struct why_cpu;
#define why_own() NULL
#define why_switch(s, prev, next, runnable, now, casts) ((void)now)
#define why_wait(s, p, st, w, ep) ((void)s)
#define why_later(s, ctx) ((void)s)
#define why_hidden(p, w, ep) ((void)0)
#define why_slow(s) ((void)0)
#endif

#endif
