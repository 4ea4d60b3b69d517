// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of /proc/PID/maps as the line and the futex source read them, to tell what processes share:
 * both say the same of a line, and only what it says.
 */
#include "fuzz.h"

#include "core/map_line.h"
#include "source/contend/futex.h"
#include "source/line/line_shared.h"

/* Its fields, written again, begin the line: no number was taken for another. */
static void must_say(const char *line, const struct map_line *l)
{
	uint64_t start, end, offset, major, minor, inode;
	char perms[5];

	MUST(sscanf(line, "%lx-%lx %4s %lx %lx:%lx %lu", &start, &end, perms, &offset, &major,
		    &minor, &inode) == 7);
	MUST(start == l->start && end == l->end && offset == l->offset && inode == l->inode);
	MUST(l->dev == (major << 32 | minor) && l->start < l->end);
	MUST((perms[3] == 's') == ((l->perms & MAP_SHARED_MEM) != 0));
}

static void check(const char *line)
{
	size_t len = strlen(line);
	struct map_line l = {0};
	struct line_mapping m = {0};
	struct futex_place at = {0};
	bool is = map_line_parse(line, len, &l), shared = is && (l.perms & MAP_SHARED_MEM);
	bool anon = is && l.path_len >= 11 && !strncmp(l.path, "anon_inode:", 11);

	MUST(line_mapping_parse(line, &m) == is);
	if (!is) {
		MUST(!futex_place_parse(line, 0, &at));
		return;
	}
	must_say(line, &l);
	MUST(l.path >= line && l.path + l.path_len <= line + len);
	MUST(m.start == l.start && m.end == l.end && m.offset == l.offset);
	MUST(m.dev == l.dev && m.inode == l.inode && m.shared == (shared && l.inode));
	MUST(!futex_place_parse(line, l.end, &at) &&
	     (!l.start || !futex_place_parse(line, l.start - 1, &at)));
	MUST(m.anonymous_inode == anon);
	MUST(futex_place_parse(line, l.start, &at) == (shared && !anon));
	if (!shared || anon)
		return;
	MUST(at.offset == l.offset && at.dev == m.dev && at.inode == m.inode && at.sysv <= 1);
	MUST(futex_place_parse(line, l.end - 1, &at));
	MUST(at.offset == l.offset + (l.end - 1 - l.start));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *rest = text;

	for (char *line; (line = strsep(&rest, "\n"));)
		check(line);
	free(text);
	return 0;
}
