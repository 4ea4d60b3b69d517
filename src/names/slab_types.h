/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the objects of a slab cache are, by the cache's name. */
#ifndef WS_NAMES_SLAB_TYPES_H
#define WS_NAMES_SLAB_TYPES_H

#include <stdbool.h>
#include <stddef.h>

enum slab_content {
	SLAB_UNKNOWN,
	SLAB_STRUCT, /* `type`, if the kernel has it and the size fits */
	SLAB_BYTES,  /* data without locks */
};

struct slab_type {
	enum slab_content content;
	char type[64];
	char other[64]; /* if there is no such struct; "": none */
	bool tail;	/* objects have another length than the struct, known at run time only */
};

/* From a table, else a struct of that name or, "jbd2_foo_cache", of "jbd2_foo": the caller sees
 * which there is. */
void slab_type_of(const char *cache, struct slab_type *out);
/* "ext4_inode_cache" -> "ext4": the module whose types may have it. */
void slab_module_of(const char *cache, char *out, size_t len);

/* Of the caches that kmalloc takes from: memory for anything. */
bool slab_is_general(const char *cache);

#endif
