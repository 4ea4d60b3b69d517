/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel can do, asked rather than guessed, and libbpf's errors in our words. */
#ifndef WS_BPF_UTIL_H
#define WS_BPF_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/frame.h"

struct bpf_link;
struct bpf_object;
struct btf;

/* Route libbpf's messages: to stderr when verbose, else nowhere. */
void bpf_util_log(bool verbose);

/* Has the kernel BTF of its own? BTF tracepoints, iterators and task storage take it. */
bool kernel_has_btf(void);
/* Words for a file of --btf that is not there (exit 2), or not what it should be (3). Returns err.
 */
int bad_btf_file(struct err *e, int err, const char *file);
/* The running kernel's BTF, from `file` if that is not NULL; NULL with words (exit 3) when there is
 * none. Free with btf__free. */
struct btf *kernel_btf(const char *file, struct err *e);
/* Arguments of a tracepoint by its btf_trace_NAME prototype, or -ENOENT. */
int tracepoint_args(const struct btf *btf, const char *name);
/* Has it that many? Asked of the kernel itself, by a raw tracepoint: 1, 0 or negative errno. */
int tracepoint_has_arg(const char *name, unsigned int n);

/*
 * Bytes from a CPU's struct rq to its preempt_count, by the offsets of per-CPU variables in BTF;
 * -ENOENT where it is not per CPU (not x86) or BTF does not say.
 */
int preempt_count_offset(const struct btf *btf, int64_t *from_rq);

/* The same to where a KVM guest is told what was stolen from the CPU; -ENOENT: this kernel is not
 * made to be told. */
int steal_offset(const struct btf *btf, int64_t *from_rq);

/* Offset and type of a variable in a section; -ENOENT where BTF does not tell. */
int btf_section_var(const struct btf *btf, const char *section, const char *name, int64_t *offset,
		    uint32_t *type);
/*
 * Does it keep a record of how long tasks wait for a CPU (CONFIG_SCHED_INFO)? It could be there and
 * off before c5895d3f06cb ("sched: Simplify sched_info_on()", 5.14): then nothing has come to a CPU
 * by its account, not even we.
 */
bool kernel_keeps_record(const struct btf *btf);
bool struct_has_member(const struct btf *btf, const char *name, const char *member);
/* May a program read through a number (bpf_rdonly_cast, compat.bpf.h)? `path`: the file of --btf,
 * or NULL; of another kernel's types functions are unknown. */
bool kernel_casts(const struct btf *btf, const char *path);
/* May a program read the registers of the task that it runs in (bpf_task_pt_regs, dd6e10fbd9fb,
 * 5.15)? */
bool kernel_gives_pt_regs(void);

/* May we use BPF here at all? Names what is missing: privileges, the system call. */
int bpf_probe_call(struct err *e);
/* The same for sources that need the kernel's own BTF. */
int bpf_probe(struct err *e);
/* The level of the lockdown; false: the kernel does not tell. */
bool lockdown_level(char *level, size_t len);
/* lockdown=confidentiality: neither BPF nor tracefs shows what is in the kernel. */
bool bpf_locked_down(void);
/* Words for a failed load or attach: privileges, lockdown, else strerror; returns err (negative).
 */
int bpf_fail(struct err *e, int err, const char *what);

/* Does this kernel run a program of ours when asked to (BPF_PROG_TEST_RUN)? 0, or negative errno.
 */
int bpf_test_runs(void);
/* Runs an attached iterator, which writes nothing, over all there is. 0 or negative errno. */
int bpf_iter_run(const struct bpf_link *link);
/* Our process as the initial pid namespace numbers it, which in another getpid does not tell. 0 or
 * negative errno. */
int self_tgid(uint32_t *tgid);
/* The calling thread's struct task_struct, where the kernel has it. 0 or negative errno. */
int self_task(uint64_t *address);

/*
 * Run-time statistics summed over an object's programs. They cost two clock reads per run, so they
 * are on between cost_sampler_begin and _end only.
 */
struct cost_sampler {
	int stats_fd; /* -1: off */
	uint64_t begin_ns;
	uint64_t run_ns, runs;
};
int cost_sampler_begin(struct cost_sampler *c, const struct bpf_object *obj, struct err *e);
int cost_sampler_end(struct cost_sampler *c, const struct bpf_object *obj, struct self_cost *out);
void cost_sampler_close(struct cost_sampler *c);

/* Runs the kernel skipped because the same program was active on that CPU (bpf_prog_info). */
uint64_t recursion_misses(const struct bpf_object *obj);

/* The wall clock when CLOCK_MONOTONIC was mono_ns. */
struct timespec wall_at(uint64_t mono_ns);
/*
 * How far our CLOCK_MONOTONIC is ahead of the kernel's own, which BPF programs read, in ns: not 0
 * in a time namespace alone (LXC, CRIU).
 */
int64_t time_ns_ahead(void);
/* The same of a text of /proc/self/timens_offsets. */
int64_t time_ns_parse(const char *text);

#endif
