// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/fields.h"

#include "core/frame.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TABLE(name, rows) const struct field_table name = {rows, COUNT(rows)}
#define AT(s, member) offsetof(struct s, member)

/* The order is that of the keys in JSON. */
static const struct field quality_edge_rows[] = {
	{"missed", FIELD_U64, FIELD_NEVER_NULL, AT(quality, missed)},
	{"in_flight", FIELD_U64, FIELD_NEVER_NULL, AT(quality, in_flight)},
	{"in_flight_longest_ns", FIELD_U64, FIELD_NEVER_NULL, AT(quality, longest_ns)},
};
TABLE(quality_edge_fields, quality_edge_rows);

static const struct field quality_rows[] = {
	{"unpaired", FIELD_U64, FIELD_NEVER_NULL, AT(quality, unpaired)},
	{"clamped", FIELD_U64, FIELD_NEVER_NULL, AT(quality, clamped)},
	{"map_full", FIELD_U64, FIELD_NEVER_NULL, AT(quality, map_full)},
	{"recursion_misses", FIELD_U64, FIELD_NEVER_NULL, AT(quality, recursion_misses)},
	{"lost_events", FIELD_U64, FIELD_NEVER_NULL, AT(quality, lost_events)},
	{"over_range", FIELD_U64, FIELD_NEVER_NULL, AT(quality, over_range)},
	{"inferred", FIELD_U64, FIELD_NEVER_NULL, AT(quality, inferred)},
	{"pending", FIELD_U64, FIELD_NEVER_NULL, AT(quality, pending)},
	{"names_refused", FIELD_U64, FIELD_NEW, AT(quality, names_refused)},
};
TABLE(quality_fields, quality_rows);

static const struct field site_rows[] = {
	{"ip", FIELD_HEX, FIELD_NEVER_NULL, AT(site, ip)},
	{"sym", FIELD_TEXT, FIELD_NEVER_NULL, AT(site, sym)},
	{"count", FIELD_U64, FIELD_NEVER_NULL, AT(site, count)},
};
TABLE(site_fields, site_rows);

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
	{"local", FIELD_U64, FIELD_NEVER_NULL, AT(line_hitm, local)},
	{"remote", FIELD_U64, FIELD_NEVER_NULL, AT(line_hitm, remote)},
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
};
TABLE(contended_name_fields, contended_name_rows);

static const struct field threads_rows[] = {
	{"threads", FIELD_U64, FIELD_ZERO_IS_NULL, AT(contended, ntasks)},
};
TABLE(threads_fields, threads_rows);

static const struct field accesses_rows[] = {
	{"sampler", FIELD_TEXT, FIELD_NEVER_NULL, AT(line_accesses, sampler)},
	{"sharing", FIELD_TEXT, FIELD_ZERO_IS_NULL, AT(line_accesses, sharing)},
	{"exact", FIELD_BOOL, FIELD_NEVER_NULL, AT(line_accesses, exact)},
	{"reads", FIELD_U64, FIELD_NEVER_NULL, AT(line_accesses, reads)},
	{"writes", FIELD_U64, FIELD_NEVER_NULL, AT(line_accesses, writes)},
	{"locked", FIELD_U64, FIELD_NEVER_NULL, AT(line_accesses, locked)},
	{"inferred", FIELD_U64, FIELD_NEVER_NULL, AT(line_accesses, inferred)},
	{"share_ppm", FIELD_PPM, FIELD_NEGATIVE_IS_NULL, AT(line_accesses, share)},
	{"interleave_ppm", FIELD_PPM, FIELD_NEGATIVE_IS_NULL, AT(line_accesses, interleave)},
	{"rank", FIELD_DECIMAL, FIELD_NEVER_NULL, AT(line_accesses, rank)},
	{"cores", FIELD_U32, FIELD_NEVER_NULL, AT(line_accesses, cores)},
};
TABLE(accesses_fields, accesses_rows);

static const struct field exact_rows[] = {
	{"transfers", FIELD_U64, FIELD_NEVER_NULL, AT(line_accesses, transfers)},
	{"bound", FIELD_U64, FIELD_NEVER_NULL, AT(line_accesses, bound)},
	{"stopped", FIELD_BOOL, FIELD_NEVER_NULL, AT(line_accesses, stopped)},
	{"foreign", FIELD_U64, FIELD_NEVER_NULL, AT(line_accesses, foreign)},
	{"confirmed", FIELD_BOOL, FIELD_NEW, AT(line_accesses, confirmed)},
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

bool field_is_null(const struct field *f, const void *from)
{
	const void *at = (const char *)from + f->offset;

	switch (f->type) {
	case FIELD_TEXT:
		return f->null == FIELD_ZERO_IS_NULL && !*(const char *const *)at;
	case FIELD_U64:
	case FIELD_HEX:
		return f->null == FIELD_ZERO_IS_NULL && !*(const uint64_t *)at;
	case FIELD_U32:
		return f->null == FIELD_ZERO_IS_NULL && !*(const uint32_t *)at;
	case FIELD_I32:
		return f->null == FIELD_NEGATIVE_IS_NULL && *(const int32_t *)at < 0;
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
	return f->null == FIELD_FALSE_IS_ABSENT && !*(const bool *)((const char *)from + f->offset);
}
