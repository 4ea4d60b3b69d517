/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pages look like, and their script; both constant. */
#ifndef WS_SINK_HTML_STYLE_H
#define WS_SINK_HTML_STYLE_H

extern const char html_style[], html_script[];
extern const char
	html_script_hash[]; /* "sha256-...": tests/readers/test_html.py says what it must be */

#endif
