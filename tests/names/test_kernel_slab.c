/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the objects of a slab cache are. No kernel needed. */
#include <string.h>

#include "names/kernel.h"
#include "unit.h"

TEST(contents)
{
	static const struct {
		const char *cache;
		enum slab_content content;
		const char *type, *other;
		bool tail;
		const char *why;
	} rows[] = {
		{"kmalloc-192", SLAB_UNKNOWN, "", "", false, "anything"},
		{"kmalloc-cg-1k", SLAB_UNKNOWN, "", "", false, "anything, accounted"},
		{"dma-kmalloc-64", SLAB_UNKNOWN, "", "", false, "anything, for devices"},
		{"kmalloc-rnd-03-96", SLAB_UNKNOWN, "", "", false, "anything, at random"},
		{"ext4_inode_cache", SLAB_STRUCT, "ext4_inode_info", "", false, "table"},
		{"task_struct", SLAB_STRUCT, "task_struct", "", true, "as long as the FPU's"},
		{"dentry", SLAB_STRUCT, "dentry", "", false, "rule"},
		{"mfc_cache", SLAB_STRUCT, "mfc_cache", "mfc", false, "rule: the name first"},
		{"kernfs_node_cache", SLAB_STRUCT, "kernfs_node_cache", "kernfs_node", false,
		 "rule: then without _cache"},
		{"_cache", SLAB_STRUCT, "_cache", "", false, "nothing would be left"},
		{"names_cache", SLAB_BYTES, "", "", false, "paths"},
		{"sgpool-16", SLAB_BYTES, "", "", false, "a family of bytes"},
		{"biovec-max", SLAB_BYTES, "", "", false, "another"},
	};
	struct slab_type type;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		slab_type_of(rows[i].cache, &type);
		if (type.content != rows[i].content || strcmp(type.type, rows[i].type) ||
		    strcmp(type.other, rows[i].other) || type.tail != rows[i].tail)
			fail_msg("%s: %d '%s' '%s' %d (%s)", rows[i].cache, type.content, type.type,
				 type.other, type.tail, rows[i].why);
	}
}

TEST(modules)
{
	char module[8];

	slab_module_of("ext4_inode_cache", module, sizeof(module));
	assert_string_equal(module, "ext4");
	slab_module_of("dentry", module, sizeof(module));
	assert_string_equal(module, "dentry");
	slab_module_of("a_name_of_more_letters", module, sizeof(module));
	assert_string_equal(module, "a");
	slab_module_of("muchtoolongforthis", module, sizeof(module));
	assert_int_equal(strlen(module), sizeof(module) - 1);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
