/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `waitscope report FILE...`: records drawn again, in any format; no privileges, no kernel. */
#ifndef WS_REPORT_H
#define WS_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "core/err.h"

/* argv[0] is "report"; --help goes to `out`. 0, or negative with words. */
int report_main(int argc, char **argv, FILE *out, struct err *e);

#endif
