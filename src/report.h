/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `waitscope report FILE...`: records drawn again, in any format; no privileges, no kernel. */
#ifndef WS_REPORT_H
#define WS_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "core/err.h"

/* argv[0] is "report"; --help goes to `out`, limits that are exceeded to `notes`, and
 * then *status, else left alone, is EXIT_LIMIT. 0, or negative with words. *bisect: the ends are for git
 * bisect; *began: the command line was right. */
int report_main(int argc, char **argv, FILE *out, FILE *notes, int *status, bool *bisect,
		bool *began, struct err *e);

#endif
