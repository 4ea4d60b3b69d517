/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WS_LINE_DEVICE_H
#define WS_LINE_DEVICE_H

#include <stdbool.h>

/* Kernel code ("iowrite16+0x9") that accesses a device's registers? Pure. */
bool line_device_code(const char *sym);

#endif
