/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of cache lines, by whoever sees accesses to them (samples, breakpoints): a table of
 * who touched which bytes, what names them, and the rows of the contended table made of these.
 */
#ifndef WS_LINE_MODEL_H
#define WS_LINE_MODEL_H

#include <linux/types.h>

#include "core/arena.h"
#include "core/frame.h"
#include "names/names.h"
#include "source/cacheline/line_table.h"
#include "source/cacheline/numa.h"

/*
 * Capabilities for the names of the kernel's and of processes' memory, and for events that are
 * opened later: for CPUs that come back, for lines to be confirmed; to wake up in time at the end
 * of a short watch. Of line and watch.
 */
#define LINE_CAPS                                                                 \
	(SOURCE_CAP(CAP_BPF) | SOURCE_CAP(CAP_PERFMON) | SOURCE_CAP(CAP_SYSLOG) | \
	 SOURCE_CAP(CAP_DAC_READ_SEARCH) | SOURCE_CAP(CAP_SYS_PTRACE) | SOURCE_CAP(CAP_SYS_NICE))

/* An option of both; at 20 us for each access a million is 20 s of trapping. */
#define LINE_OPTION_CONFIRM                                                                        \
	{                                                                                          \
		"confirm", 0, "N",                                                                 \
			"watch: stop after N accesses (default 10000); line: watch what it finds", \
			OPTION_U64, .at = offsetof(struct config, confirm), .min = 0,              \
				    .max = 1000000, .value = 10000                                 \
	}

struct ext4_places;

struct line_model {
	uint32_t ncpus; /* possible */
	struct line_table *table;
	struct numa *numa;
	struct names *names;
	struct ext4_places *places; /* of what lies in ext4 */
	bool lent;		    /* names and places are another's */
	struct arena arena;	    /* of the last report's rows */
};

/* Table and nodes, for this machine's cores. 0 or -ENOMEM; all zero may be closed, too. */
int line_model_open(struct line_model *m, uint32_t ncpus);
int line_model_table(struct line_table **out, uint32_t ncpus); /* one more of the same */
/* What rows are named by. 0, or negative with words. */
int line_model_names(struct line_model *m, struct names_shared *names, struct err *e);
void line_model_lend(struct line_model *to, const struct line_model *from); /* that, instead */
void line_model_close(struct line_model *m);

void line_model_report(struct line_model *m); /* a new one: the last one's rows go */
/*
 * What a line's accesses say, whose owner and name are looked up at c->addr: the row, and its
 * accesses but what only the sampler knows (sampler, share ...). 0 or -ENOMEM.
 */
int line_model_row(struct line_model *m, const struct line *l, enum line_view v,
		   struct name_process who, struct contended *c, struct line_accesses *a);
/* Name of code, of the kernel or of the use's process. */
void line_model_code(struct line_model *m, const struct line_use *u, uint64_t ip, struct name *out);

static inline bool line_is_kernels(const struct line *l)
{
	return !l->key.tgid && !l->key.share;
}

/* As the process of that use sees it. */
static inline uint64_t line_address(const struct line_use *u)
{
	return u->line << ABI_LINE_SHIFT;
}

static inline struct line_hitm line_hitm_of(const struct line_samples *s)
{
	return (struct line_hitm){s->told > 0, s->hitm_local, s->hitm_remote};
}

#endif
