/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files from DEBUGINFOD_URLS. Only --debuginfod leads here; nothing else of ours touches a
 * network. The library is loaded when first needed: a static binary has none.
 */
#ifndef WS_NAMES_DEBUGINFOD_H
#define WS_NAMES_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* Can it be asked at all? 0, or words. */
int debuginfod_check(struct err *e);
/* An fd on the debug file of a build-id, or -1. Waits for the servers, DEBUGINFOD_WAIT_S at most.
 */
int debuginfod_fetch(const uint8_t *id, size_t len);
#define DEBUGINFOD_WAIT_S 10

#endif
