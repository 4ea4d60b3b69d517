// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/fields.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/frame.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TABLE(name, rows) const struct field_table name = {rows, COUNT(rows)}
#define AT(s, member) offsetof(struct s, member)

/* The order is that of the keys in JSON. */
static const struct field quality_edge_rows[] = {
	{"missed", FIELD_U64, FIELD_NEVER_NULL, AT(quality, missed), .foot = "missed at the start",
	 .help = "Tasks that waited already when tracing began: for how long is not known"},
	{"in_flight", FIELD_U64, FIELD_NEVER_NULL, AT(quality, in_flight),
	 .help = "Tasks that still waited at the end: those waits are in no number"},
	{"in_flight_longest_ns", FIELD_U64, FIELD_NEVER_NULL, AT(quality, longest_ns),
	 .help = "For how long the longest of them had waited, in nanoseconds"},
};
TABLE(quality_edge_fields, quality_edge_rows);

#define LOSS(name, words)                                                                          \
	{                                                                                          \
#name, FIELD_U64, FIELD_NEVER_NULL, AT(quality, name), .help = (words),            \
								       .foot = #name, .loss = true \
	}
static const struct field quality_rows[] = {
	LOSS(unpaired, "Ends of waits whose beginning the kernel did not report"),
	LOSS(clamped, "Waits whose end came before their beginning, by two CPUs' clocks: counted "
		      "as 0 ns"),
	LOSS(map_full, "Tasks, groups or addresses that found no place"),
	LOSS(recursion_misses, "Program runs that the kernel refused, as the program ran already "
			       "on that CPU"),
	LOSS(lost_events, "Slow waits that found the ring buffer full: the percentiles have them"),
	{"untraced", FIELD_U64, FIELD_NEW, AT(quality, untraced),
	 .foot = "untraced 32-bit programs", .loss = true,
	 .help = "32-bit programs that began after the start: their futex waits are not traced"},
	{"over_range", FIELD_U64, FIELD_NEVER_NULL, AT(quality, over_range), .foot = "over_range",
	 .help = "Waits longer than the last bucket, 256 s, and counted in it"},
	{"inferred", FIELD_U64, FIELD_NEVER_NULL, AT(quality, inferred), .foot = "inferred",
	 .help = "Waits with one end that no tracepoint reported: as long as the kernel's own "
		 "record of the task says"},
	{"pending", FIELD_U64, FIELD_NEVER_NULL, AT(quality, pending),
	 .help = "Samples at code that was not decoded yet: in no row of cache lines"},
	{"names_refused", FIELD_U64, FIELD_NEW, AT(quality, names_refused), .foot = "names_refused",
	 .help = "Names of addresses that took longer than a report waits for them"},
	{"watches", FIELD_U64, FIELD_NEW, AT(quality, watches),
	 .help = "Times that memory was watched by up to four debug registers, to decide about "
		 "ambiguous samples of cache lines"},
	{"watched_ns", FIELD_U64, FIELD_NEW, AT(quality, watched_ns),
	 .help = "For how long these registers were taken, all times together, in nanoseconds"},
};
TABLE(quality_fields, quality_rows);

static const struct field self_rows[] = {
	{"bpf_ns_per_event", FIELD_DECIMAL, FIELD_NEVER_NULL, AT(self_cost, bpf_ns_per_event),
	 .help = "Nanoseconds that the BPF programs took for an event"},
	{"bpf_cpu_ppm", FIELD_DECIMAL, FIELD_NEVER_NULL, AT(self_cost, bpf_cpu_ppm),
	 .help = "What they took of one CPU, in millionths: 10,000 are 1 %"},
	{"user_cpu_ppm", FIELD_DECIMAL, FIELD_NEVER_NULL, AT(self_cost, user_cpu_ppm),
	 .help = "What waitscope itself took, likewise"},
};
TABLE(self_fields, self_rows);

static const struct field site_rows[] = {
	{"ip", FIELD_HEX, FIELD_NEVER_NULL, AT(site, ip)},
	{"sym", FIELD_TEXT, FIELD_NEVER_NULL, AT(site, sym)},
	{"count", FIELD_U64, FIELD_NEVER_NULL, AT(site, count)},
};
TABLE(site_fields, site_rows);

static const struct field holder_rows[] = {
	{"pid", FIELD_U32, FIELD_ZERO_IS_NULL, AT(holder, pid)},
	{"tid", FIELD_U32, FIELD_ZERO_IS_NULL, AT(holder, tid)},
	{"comm", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(holder, comm)},
	{"count", FIELD_U64, FIELD_NEVER_NULL, AT(holder, count)},
	{"wait_ns", FIELD_U64, FIELD_NEVER_NULL, AT(holder, wait_ns)},
	{"running_ns", FIELD_U64, FIELD_NEVER_NULL, AT(holder, running_ns)},
	{"runnable_ns", FIELD_U64, FIELD_NEVER_NULL, AT(holder, runnable_ns)},
	{"throttled_ns", FIELD_U64, FIELD_NEVER_NULL, AT(holder, throttled_ns)},
	{"blocked_ns", FIELD_U64, FIELD_NEVER_NULL, AT(holder, blocked_ns)},
	{"took_ns", FIELD_U64, FIELD_NEW, AT(holder, took_ns)},
	{"took_at", FIELD_TEXT, FIELD_NONE_IS_ABSENT, AT(holder, took_at)},
	{"released_at", FIELD_TEXT, FIELD_NONE_IS_ABSENT, AT(holder, released_at)},
};
TABLE(holder_fields, holder_rows);

static const struct field member_rows[] = {
	{"name", FIELD_TEXT, FIELD_NEVER_NULL, AT(line_member, name)},
	{"offset", FIELD_U32, FIELD_NEVER_NULL, AT(line_member, offset)},
	{"size", FIELD_U32, FIELD_NEVER_NULL, AT(line_member, size)},
	{"hot", FIELD_BOOL, FIELD_NEVER_NULL, AT(line_member, hot)},
};
TABLE(member_fields, member_rows);

static const struct field futex_rows[] = {
	{"idle", FIELD_BOOL, FIELD_NEVER_NULL, AT(futex_counts, idle)},
	{"eagain", FIELD_U64, FIELD_NEVER_NULL, AT(futex_counts, eagain)},
	{"timeouts", FIELD_U64, FIELD_NEVER_NULL, AT(futex_counts, timeouts)},
	{"wakes", FIELD_U64, FIELD_NEVER_NULL, AT(futex_counts, wakes)},
	{"woken", FIELD_U64, FIELD_NEVER_NULL, AT(futex_counts, woken)},
};
TABLE(futex_fields, futex_rows);

static const struct field thread_rows[] = {
	{"pid", FIELD_U32, FIELD_NEVER_NULL, AT(line_thread, pid)},
	{"tid", FIELD_U32, FIELD_NEVER_NULL, AT(line_thread, tid)},
	{"cpu", FIELD_U32, FIELD_NEVER_NULL, AT(line_thread, cpu)},
	{"comm", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(line_thread, comm)},
	{"samples", FIELD_U64, FIELD_NEVER_NULL, AT(line_thread, samples)},
	{"writes", FIELD_U64, FIELD_NEVER_NULL, AT(line_thread, writes)},
	{"read_bytes", FIELD_HEX, FIELD_NEVER_NULL, AT(line_thread, read_bytes)},
	{"write_bytes", FIELD_HEX, FIELD_NEVER_NULL, AT(line_thread, write_bytes)},
};
TABLE(thread_fields, thread_rows);

static const struct field hitm_rows[] = {
	{"local", FIELD_U64, FIELD_NEVER_NULL, AT(line_hitm, local),
	 .help = "Loads that found the line modified in another core's cache of the same socket"},
	{"remote", FIELD_U64, FIELD_NEVER_NULL, AT(line_hitm, remote),
	 .help = "Likewise, of another socket"},
};
TABLE(hitm_fields, hitm_rows);

static const struct field spot_rows[] = {
	{"offset", FIELD_U32, FIELD_NEVER_NULL, AT(line_spot, offset)},
	{"size", FIELD_U32, FIELD_NEVER_NULL, AT(line_spot, size)},
	{"name", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(line_spot, name)},
	{"tid", FIELD_U32, FIELD_NEVER_NULL, AT(line_spot, tid)},
	{"ip", FIELD_HEX, FIELD_NEVER_NULL, AT(line_spot, ip)},
	{"sym", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(line_spot, sym)},
	{"reads", FIELD_U64, FIELD_NEVER_NULL, AT(line_spot, reads)},
	{"writes", FIELD_U64, FIELD_NEVER_NULL, AT(line_spot, writes)},
	{"locked", FIELD_U64, FIELD_NEVER_NULL, AT(line_spot, locked)},
};
TABLE(spot_fields, spot_rows);

static const struct field contended_rows[] = {
	{"source", FIELD_TEXT, FIELD_NEVER_NULL, AT(contended, source)},
	{"kind", FIELD_TEXT, FIELD_NEVER_NULL, AT(contended, kind)},
	{"other", FIELD_BOOL, FIELD_NEVER_NULL, AT(contended, other)},
};
TABLE(contended_fields, contended_rows);

static const struct field contended_name_rows[] = {
	{"name", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(contended, name)},
	{"place", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(contended, place)},
	{"name_inferred", FIELD_BOOL, FIELD_FALSE_IS_ABSENT, AT(contended, name_inferred)},
	{"pid", FIELD_U32, FIELD_ZERO_IS_NULL, AT(contended, pid)},
	{"owner", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(contended, owner)},
	{"class", FIELD_TEXT, FIELD_NONE_IS_ABSENT, AT(contended, class)},
	{"runtime", FIELD_TEXT, FIELD_NONE_IS_ABSENT, AT(contended, runtime)},
};
TABLE(contended_name_fields, contended_name_rows);

static const struct field contended_number_rows[] = {
	{"threads", FIELD_U64, FIELD_ZERO_IS_NULL, AT(contended, ntasks), .head = "THREADS",
	 .help = "Threads that waited, or touched the line", .tables = TABLE_LINES,
	 .place = PLACE_WHO, .yield = YIELD_LATE},
};
TABLE(contended_number_fields, contended_number_rows);

#define IN_LINES(text, where) .head = (text), .tables = TABLE_LINES, .place = (where)

static const struct field accesses_rows[] = {
	{"sampler", FIELD_TEXT, FIELD_NEVER_NULL, AT(line_accesses, sampler),
	 .help = "Who found the accesses: clock (an interrupt, at the instruction before), pebs or "
		 "ibs (the PMU), breakpoint"},
	{"sharing", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(line_accesses, sharing),
	 .help = "false: threads touch bytes of their own, which only lie on one line; true: the "
		 "same bytes; empty: not known",
	 IN_LINES("SHARING", PLACE_WHAT)},
	{"exact", FIELD_BOOL, FIELD_NEVER_NULL, AT(line_accesses, exact),
	 .help = "All accesses were seen, not a sample of them"},
	{"reads", FIELD_U64, FIELD_NEVER_NULL, AT(line_accesses, reads),
	 .help = "Of the samples, those that read", IN_LINES("read%", PLACE_HOW),
	 .yield = YIELD_LATE, .percent = true},
	{"writes", FIELD_U64, FIELD_NEVER_NULL, AT(line_accesses, writes),
	 .help = "Of the samples, those that wrote", IN_LINES("write%", PLACE_HOW),
	 .yield = YIELD_LATE, .percent = true},
	{"locked", FIELD_U64, FIELD_NEVER_NULL, AT(line_accesses, locked),
	 .help = "Of the samples, those of atomic instructions"},
	{"inferred", FIELD_U64, FIELD_NEVER_NULL, AT(line_accesses, inferred),
	 .help = "Of the writes, loads that a store to the same place follows"},
	{"share_ppm", FIELD_PPM, FIELD_NEGATIVE_IS_NULL, AT(line_accesses, share),
	 .help = "Of the time of busy CPUs, in millionths: 10,000 are 1 %",
	 IN_LINES("time%", PLACE_WHAT), .if_any = true},
	{"interleave_ppm", FIELD_PPM, FIELD_NEGATIVE_IS_NULL, AT(line_accesses, interleave),
	 .help = "Of consecutive samples, those that changed CPU, in millionths: how much the line "
		 "moves",
	 IN_LINES("moves%", PLACE_HOW), .yield = YIELD_LATE},
	{"rank", FIELD_DECIMAL, FIELD_NEVER_NULL, AT(line_accesses, rank),
	 .help = "What lines are sorted by: samples of the second-busiest thread, by how much the "
		 "line moves"},
	{"cores", FIELD_U32, FIELD_NEVER_NULL, AT(line_accesses, cores),
	 .help = "Cores that touched it; hardware threads of one count once"},
	{"watched", FIELD_BOOL, FIELD_FALSE_IS_ABSENT, AT(line_accesses, watched),
	 .help = "A short watch decided about samples that were ambiguous, or saw who writes"},
};
TABLE(accesses_fields, accesses_rows);

static const struct field exact_rows[] = {
	{"transfers", FIELD_U64, FIELD_NEVER_NULL, AT(line_accesses, transfers),
	 .help = "Consecutive accesses that changed CPU"},
	{"bound", FIELD_U64, FIELD_NEVER_NULL, AT(line_accesses, bound),
	 .help = "Accesses after which watching stops"},
	{"stopped", FIELD_BOOL, FIELD_NEVER_NULL, AT(line_accesses, stopped),
	 .help = "It has stopped"},
	{"foreign", FIELD_U64, FIELD_NEVER_NULL, AT(line_accesses, foreign),
	 .help = "Accesses by tasks that the filters leave out"},
	{"confirmed", FIELD_BOOL, FIELD_NEW, AT(line_accesses, confirmed),
	 .help = "Watched because of samples that were ambiguous"},
};
TABLE(exact_fields, exact_rows);

static const struct field slow_rows[] = {
	{"mono_ns", FIELD_U64, FIELD_NEVER_NULL, AT(slow, mono_ns)},
	{"metric", FIELD_TEXT, FIELD_NEVER_NULL, AT(slow, metric)},
	{"kind", FIELD_TEXT, FIELD_NEVER_NULL, AT(slow, kind)},
	{"cpu", FIELD_U32, FIELD_NEVER_NULL, AT(slow, cpu)},
	{"pid", FIELD_U32, FIELD_NEVER_NULL, AT(slow, pid)},
	{"tid", FIELD_U32, FIELD_NEVER_NULL, AT(slow, tid)},
	{"comm", FIELD_TEXT, FIELD_NEVER_NULL, AT(slow, comm)},
	{"cgroup", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(slow, cgroup)},
	{"wait_ns", FIELD_U64, FIELD_NEVER_NULL, AT(slow, wait_ns)},
};
TABLE(slow_fields, slow_rows);

static const struct field slow_op_rows[] = {
	{"op", FIELD_TEXT, FIELD_NEVER_NULL, AT(slow_op, op)},
	{"dev", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(slow_op, dev)},
	{"mount", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(slow_op, mount)},
	{"path", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(slow_op, path)},
	{"bytes", FIELD_U64, FIELD_NEVER_NULL, AT(slow_op, bytes)},
};
TABLE(slow_op_fields, slow_op_rows);

static const struct field slow_held_rows[] = {
	{"source", FIELD_TEXT, FIELD_NEVER_NULL, AT(slow_held, source)},
	{"addr", FIELD_HEX, FIELD_NEVER_NULL, AT(slow_held, addr)},
	{"name", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(slow_held, name)},
	{"place", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(slow_held, place)},
	{"class", FIELD_TEXT, FIELD_NONE_IS_ABSENT, AT(slow_held, class)},
};
TABLE(slow_held_fields, slow_held_rows);

static const struct field slow_link_rows[] = {
	{"kind", FIELD_TEXT, FIELD_NEVER_NULL, AT(slow_link, kind)},
	{"pid", FIELD_U32, FIELD_ZERO_IS_NULL, AT(slow_link, pid)},
	{"tid", FIELD_U32, FIELD_ZERO_IS_NULL, AT(slow_link, tid)},
	{"comm", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(slow_link, comm)},
	{"addr", FIELD_HEX, FIELD_ZERO_IS_NULL, AT(slow_link, addr)},
	{"name", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(slow_link, name)},
	{"ns", FIELD_U64, FIELD_NEVER_NULL, AT(slow_link, ns)},
};
TABLE(slow_link_fields, slow_link_rows);

static const struct field times_rows[] = {
	{"of", FIELD_TEXT, FIELD_NEVER_NULL, AT(times, of)},
	{"running_ns", FIELD_U64, FIELD_NEVER_NULL, AT(times, running_ns)},
	{"waiting_ns", FIELD_U64, FIELD_NEVER_NULL, AT(times, waiting_ns)},
	{"throttled_ns", FIELD_U64, FIELD_NEVER_NULL, AT(times, throttled_ns)},
	{"asleep_ns", FIELD_U64, FIELD_NEVER_NULL, AT(times, asleep_ns)},
};
TABLE(times_fields, times_rows);

static const struct field culprit_rows[] = {
	{"kind", FIELD_TEXT, FIELD_NEVER_NULL, AT(culprit, kind)},
	{"pid", FIELD_U32, FIELD_ZERO_IS_NULL, AT(culprit, pid)},
	{"tid", FIELD_U32, FIELD_ZERO_IS_NULL, AT(culprit, tid)},
	{"comm", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(culprit, comm)},
	{"cgroup", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(culprit, cgroup)},
	{"class", FIELD_TEXT, FIELD_NONE_IS_ABSENT, AT(culprit, rt_class)},
	{"priority", FIELD_U32, FIELD_NONE_IS_ABSENT, AT(culprit, priority)},
	{"count", FIELD_U64, FIELD_NEVER_NULL, AT(culprit, count)},
	{"wait_ns", FIELD_U64, FIELD_NEVER_NULL, AT(culprit, wait_ns)},
};
TABLE(culprit_fields, culprit_rows);

static const struct field culprit_part_rows[] = {
	{"kind", FIELD_TEXT, FIELD_NEVER_NULL, AT(culprit, kind)},
	{"pid", FIELD_U32, FIELD_ZERO_IS_NULL, AT(culprit, pid)},
	{"tid", FIELD_U32, FIELD_ZERO_IS_NULL, AT(culprit, tid)},
	{"comm", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(culprit, comm)},
	{"cgroup", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(culprit, cgroup)},
	{"class", FIELD_TEXT, FIELD_NONE_IS_ABSENT, AT(culprit, rt_class)},
	{"priority", FIELD_U32, FIELD_NONE_IS_ABSENT, AT(culprit, priority)},
	{"ns", FIELD_U64, FIELD_NEVER_NULL, AT(culprit, wait_ns)},
};
TABLE(culprit_part_fields, culprit_part_rows);

void fields_add(const struct field_table *t, void *to, const void *from)
{
	for (size_t i = 0; i < t->n; i++) {
		char *a = (char *)to + t->v[i].offset;
		const char *b = (const char *)from + t->v[i].offset;

		switch (t->v[i].type) {
		case FIELD_U64:
			*(uint64_t *)a += *(const uint64_t *)b;
			break;
		case FIELD_HEX:
			*(uint64_t *)a |= *(const uint64_t *)b;
			break;
		case FIELD_BOOL:
			*(bool *)a |= *(const bool *)b;
			break;
		case FIELD_U32:
			*(uint32_t *)a = *(const uint32_t *)b;
			break;
		case FIELD_TEXT:
			if (*(const char *const *)b)
				*(const char **)a = *(const char *const *)b;
			break;
		case FIELD_PPM:
		case FIELD_DECIMAL:
			break;
		}
	}
}

bool fields_subtract(const struct field_table *t, void *from, const void *part)
{
	for (size_t i = 0; i < t->n; i++) {
		uint64_t *a = (uint64_t *)((char *)from + t->v[i].offset);
		const uint64_t *b = (const uint64_t *)((const char *)part + t->v[i].offset);

		if (t->v[i].type == FIELD_U64 && __builtin_sub_overflow(*a, *b, a))
			return false;
	}
	return true;
}

bool field_is_null(const struct field *f, const void *from)
{
	const void *at = (const char *)from + f->offset;

	switch (f->type) {
	case FIELD_TEXT:
		return f->null != FIELD_NEVER_NULL && !*(const char *const *)at;
	case FIELD_U64:
	case FIELD_HEX:
		return f->null == FIELD_ZERO_IS_NULL && !*(const uint64_t *)at;
	case FIELD_U32:
		return (f->null == FIELD_ZERO_IS_NULL || f->null == FIELD_NONE_IS_ABSENT) &&
		       !*(const uint32_t *)at;
	case FIELD_PPM:
	case FIELD_DECIMAL:
		return f->null == FIELD_NEGATIVE_IS_NULL && *(const double *)at < 0;
	case FIELD_BOOL:
		break;
	}
	return false;
}

bool field_is_absent(const struct field *f, const void *from)
{
	if (f->null == FIELD_NONE_IS_ABSENT)
		return field_is_null(f, from);
	return f->null == FIELD_FALSE_IS_ABSENT && !*(const bool *)((const char *)from + f->offset);
}

uint64_t field_u64(const struct field *f, const void *from)
{
	return *(const uint64_t *)((const char *)from + f->offset);
}

const char *field_text(const struct field *f, const void *from, char out[FIELD_TEXT_BYTES])
{
	const void *at = (const char *)from + f->offset;

	switch (f->type) { /* all fit */
	case FIELD_U64:
		(void)snprintf(out, FIELD_TEXT_BYTES, "%" PRIu64, *(const uint64_t *)at);
		break;
	case FIELD_HEX:
		(void)snprintf(out, FIELD_TEXT_BYTES, "0x%" PRIx64, *(const uint64_t *)at);
		break;
	case FIELD_U32:
		(void)snprintf(out, FIELD_TEXT_BYTES, "%" PRIu32, *(const uint32_t *)at);
		break;
	case FIELD_PPM:
		(void)snprintf(out, FIELD_TEXT_BYTES, "%.0f", *(const double *)at * 1e6);
		break;
	case FIELD_DECIMAL:
		(void)snprintf(out, FIELD_TEXT_BYTES, "%.1f", *(const double *)at);
		break;
	case FIELD_BOOL:
		return *(const bool *)at ? "true" : "false";
	case FIELD_TEXT:
		return *(const char *const *)at;
	}
	return out;
}
