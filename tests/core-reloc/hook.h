/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a BPF program attaches to, read from its section name, as a name in the kernel's BTF. */
#ifndef WS_TEST_HOOK_H
#define WS_TEST_HOOK_H

#include <stdio.h>
#include <string.h>

enum hook_kind {
	HOOK_NONE,  /* nothing in BTF: perf_event, ... */
	HOOK_TRACE, /* a tracepoint: typedef btf_trace_NAME of a pointer to a prototype */
	HOOK_FUNC,  /* a kernel function */
};

struct hook {
	enum hook_kind kind;
	char name[128];
};

static inline struct hook hook_parse(const char *section)
{
	static const struct {
		const char *prefix;
		enum hook_kind kind;
		const char *symbol; /* put before the name */
	} table[] = {
		{"tp_btf/", HOOK_TRACE, ""},	 {"raw_tp/", HOOK_TRACE, ""},
		{"fentry/", HOOK_FUNC, ""},	 {"fexit/", HOOK_FUNC, ""},
		{"fmod_ret/", HOOK_FUNC, ""},	 {"iter/", HOOK_FUNC, "bpf_iter_"},
		{"lsm/", HOOK_FUNC, "bpf_lsm_"},
	};
	struct hook h = {HOOK_NONE, ""};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		size_t n = strlen(table[i].prefix);

		if (strncmp(section, table[i].prefix, n))
			continue;
		h.kind = table[i].kind;
		(void)snprintf(h.name, sizeof(h.name), "%s%s", table[i].symbol, section + n);
	}
	return h;
}

/* Length of a name without its ___flavour. */
static inline size_t flavour_less(const char *name)
{
	const char *f = strstr(name, "___");

	return f && f != name ? (size_t)(f - name) : strlen(name);
}

#endif
