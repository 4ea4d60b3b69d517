/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mountinfo, line by line. */
#include <stdio.h>
#include <string.h>

#include "source/sys/mountinfo.h"
#include "unit.h"

#define LINE(dev, root, path, tail) "36 35 " dev " " root " " path " rw,noatime" tail

struct line_row {
	const char *text;
	const char *want; /* "maj:min root|path|fstype|source", NULL: no entry */
	const char *why;
};

static const struct line_row line_rows[] = {
	{LINE("98:0", "/", "/data", " - ext4 /dev/sda1 rw"), "98:0 /|/data|ext4|/dev/sda1",
	 "no optional fields"},
	{LINE("98:0", "/", "/data", " shared:1 master:2 - ext4 /dev/sda1 rw"),
	 "98:0 /|/data|ext4|/dev/sda1", "optional fields"},
	{LINE("0:41", "/@home", "/home", " - btrfs /dev/sdb rw,subvol=/@home"),
	 "0:41 /@home|/home|btrfs|/dev/sdb", "a subvolume"},
	{LINE("0:5", "/", "/dev", " - devtmpfs  rw"), "0:5 /|/dev|devtmpfs|",
	 "mount(2) was given an empty source"},
	{LINE("8:1", "/a\\040b", "/mnt/x\\011\\012\\134y", " - ext4 /dev/my\\040disk rw"),
	 "8:1 /a b|/mnt/x\t\n\\y|ext4|/dev/my disk", "escaped names"},
	{LINE("8:1", "/a\\0", "/b\\400\\08\\", " - ext4 s rw"), "8:1 /a\\0|/b\\400\\08\\|ext4|s",
	 "no escapes"},
	{LINE("8:1", "/a\\000b", "/", " - ext4 s rw"), "8:1 /a\\000b|/|ext4|s",
	 "no byte of a name is 0"},
	{LINE("8:1", "/", "/a\\040-\\040ext4", " - xfs s rw"), "8:1 /|/a - ext4|xfs|s",
	 "a name that looks like the separator"},
	{LINE("8:1", "/x//deleted", "/y", " - ext4 s rw"), "8:1 /x//deleted|/y|ext4|s",
	 "the directory that was bound is gone"},
	{LINE("4095:1048575", "/", "/", " - ext4 s rw"), "4095:1048575 /|/|ext4|s", "the highest"},
	{LINE("4096:0", "/", "/", " - ext4 s rw"), NULL, "no such major number"},
	{LINE("8:1048576", "/", "/", " - ext4 s rw"), NULL, "no such minor number"},
	{LINE("8", "/", "/", " - ext4 s rw"), NULL, "no minor number"},
	{LINE("8:", "/", "/", " - ext4 s rw"), NULL, "an empty one"},
	{LINE("8:1x", "/", "/", " - ext4 s rw"), NULL, "not a number"},
	{LINE("-8:1", "/", "/", " - ext4 s rw"), NULL, "a sign"},
	{LINE("8:1", "/", "/", " - ext4 s"), NULL, "the super block's options are missing"},
	{LINE("8:1", "/", "/", " -"), NULL, "nothing behind the separator"},
	{LINE("8:1", "/", "/", ""), NULL, "no separator"},
	{"36 35 8:1 /  rw - ext4 s rw", NULL, "no mount point"},
	{"x 35 8:1 / / rw - ext4 s rw", NULL, "no id"},
	{"", NULL, "an empty line"},
};

static const char *shown(char *out, size_t len, const struct mount_entry *m)
{
	(void)snprintf(out, len, "%u:%u %s|%s|%s|%s", m->major, m->minor, m->root, m->path,
		       m->fstype, m->source);
	return out;
}

TEST(test_lines)
{
	char text[256], got[256], *rest;
	struct mount_entry m;
	size_t i;

	for (i = 0; i < ROWS(line_rows); i++) {
		(void)snprintf(text, sizeof(text), "%s", line_rows[i].text);
		rest = text;
		if (mountinfo_next(&rest, &m) != (line_rows[i].want != NULL))
			fail_msg("%s: '%s'", line_rows[i].why, line_rows[i].text);
		if (!line_rows[i].want)
			continue;
		if (strcmp(shown(got, sizeof(got), &m), line_rows[i].want))
			fail_msg("%s: '%s'", line_rows[i].why, got);
		assert_int_equal(m.id, 36);
	}
}

/* What is not understood costs its own line only. */
TEST(test_many)
{
	char text[] = "1 0 8:1 / / rw - ext4 a rw\nnonsense\n\n2 1 8:2 / /b rw - ext4 b rw";
	struct mount_entry m;
	char *rest = text;

	assert_true(mountinfo_next(&rest, &m));
	assert_string_equal(m.source, "a");
	assert_true(mountinfo_next(&rest, &m));
	assert_int_equal(m.id, 2);
	assert_string_equal(m.path, "/b");
	assert_false(mountinfo_next(&rest, &m));
	assert_false(mountinfo_next(&rest, &m));
}

int main(void)
{
	return unit_main(NULL, NULL);
}
