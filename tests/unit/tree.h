/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory with files, such as /sys has on other machines. Include after unit.h. */
#ifndef WS_TREE_H
#define WS_TREE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct file {
	const char *path, *text; /* text NULL: a directory; path NULL: the last */
};

#define TREE_ROOT 64

/* With the directories that lead there. */
static inline void tree_put(const char *root, const char *path, const char *text)
{
	char full[256], *slash;
	FILE *f;

	(void)snprintf(full, sizeof(full), "%s/%s", root, path);
	for (slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(full, 0700); /* there already, for the second file in it */
		*slash = '/';
	}
	if (!text) {
		(void)mkdir(full, 0700);
		return;
	}
	f = fopen(full, "w");
	assert_non_null(f);
	assert_true(fprintf(f, "%s\n", text) > 0);
	assert_int_equal(fclose(f), 0);
}

static inline void tree_make(char root[TREE_ROOT], const struct file *files)
{
	(void)snprintf(root, TREE_ROOT, "/tmp/ws-tree-XXXXXX");
	assert_non_null(mkdtemp(root));
	for (; files->path; files++)
		tree_put(root, files->path, files->text);
}

static inline void tree_gone(const char *root)
{
	char command[96];

	(void)snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

#endif
