/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WS_VERSION_H
#define WS_VERSION_H
#ifndef WS_VERSION
#define WS_VERSION "0.1.0"
#endif
#endif
