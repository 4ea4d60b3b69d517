/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Do the programs of an object place values in the buckets that we read them from? Their compiler
 * is not ours, and has been seen to change numbers (DESIGN, rule 17).
 */
#ifndef WS_BUCKET_CHECK_H
#define WS_BUCKET_CHECK_H

#include <stdint.h>

#include "core/err.h"

struct bpf_object;

/* Schemas by which an object's histograms are read; 0: it fills none of these. */
struct bucket_schemas {
	uint32_t hists; /* of hist.bpf.h */
	uint32_t keyed; /* of keyed.bpf.h */
};

/*
 * Runs the object's test programs, as far as they are loaded, over every boundary of the schema and
 * its neighbours (half a millisecond for 3,600 values) and compares with bucket_slot(). 0: all
 * agree, or this kernel cannot run a program for us, which --check says (bpf_test_runs). Else a
 * negative errno, with words that name the compiler (exit 3). `what` begins them.
 */
int bucket_check(const struct bpf_object *obj, const struct bucket_schemas *schemas,
		 const char *what, struct err *e);

#endif
