// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/slab_types.h"

#include <stdio.h>
#include <string.h>

/* Only those that the rule (the name of the struct, with or without _cache) does not find. */
static const struct {
	const char *cache, *type; /* type "": bytes */
	bool tail;
} table[] = {
	{"TCP", "tcp_sock", false},
	{"TCPv6", "tcp6_sock", false},
	{"PING", "inet_sock", false},
	{"RAW", "raw_sock", false},
	{"RAWv6", "raw6_sock", false},
	{"UDP", "udp_sock", false},
	{"UDP-Lite", "udp_sock", false},
	{"UDPLITEv6", "udp6_sock", false},
	{"UDPv6", "udp6_sock", false},
	{"UNIX", "unix_sock", false},
	{"UNIX-STREAM", "unix_sock", false},
	{"bdev_cache", "bdev_inode", false},
	{"blkdev_ioc", "io_context", false},
	{"cred_jar", "cred", false},
	{"eventpoll_epi", "epitem", false},
	{"eventpoll_pwq", "eppoll_entry", false},
	{"ext4_inode_cache", "ext4_inode_info", false},
	{"fasync_cache", "fasync_struct", false},
	{"files_cache", "files_struct", false},
	{"filp", "file", false},
	{"fs_cache", "fs_struct", false},
	{"hugetlbfs_inode_cache", "hugetlbfs_inode_info", false},
	{"inode_cache", "inode", false},
	{"jbd2_journal_handle", "jbd2_journal_handle", false},
	{"jbd2_journal_head", "journal_head", false},
	{"mm_struct", "mm_struct", true},
	{"mnt_cache", "mount", false},
	{"mqueue_inode_cache", "mqueue_inode_info", false},
	{"names_cache", "", false},
	{"net_namespace", "net", false},
	{"numa_policy", "mempolicy", false},
	{"ovl_inode", "ovl_inode", false},
	{"page->ptl", "spinlock", false},
	{"pid", "pid", true},
	{"posix_timers_cache", "k_itimer", false},
	{"proc_dir_entry", "proc_dir_entry", true},
	{"proc_inode_cache", "proc_inode", false},
	{"radix_tree_node", "xa_node", false},
	{"shmem_inode_cache", "shmem_inode_info", false},
	{"sighand_cache", "sighand_struct", false},
	{"signal_cache", "signal_struct", false},
	{"skbuff_fclone_cache", "sk_buff_fclones", false},
	{"skbuff_head_cache", "sk_buff", false},
	{"sock_inode_cache", "socket_alloc", false},
	{"task_struct", "task_struct", true},
	{"xfs_inode", "xfs_inode", false},
};

/* Families whose members are told apart by a number: scatter lists, pages' worth of data. */
static const char *const byte_prefixes[] = {"sgpool-", "biovec-", "skbuff_small_head"};

static bool is_general(const char *cache)
{
	return strstr(cache, "kmalloc") != NULL; /* kmalloc-64, dma-kmalloc-64, kmalloc-rnd-01-64 */
}

static void by_rule(const char *cache, struct slab_type *out)
{
	size_t n = strlen(cache);

	if (n > 6 && !strcmp(cache + n - 6, "_cache"))
		n -= 6;
	out->content = SLAB_STRUCT;
	(void)snprintf(out->type, sizeof(out->type), "%.*s", (int)n, cache); /* cut: no struct */
}

void slab_type_of(const char *cache, struct slab_type *out)
{
	size_t i;

	memset(out, 0, sizeof(*out));
	if (is_general(cache))
		return;
	for (i = 0; i < sizeof(byte_prefixes) / sizeof(byte_prefixes[0]); i++)
		if (!strncmp(cache, byte_prefixes[i], strlen(byte_prefixes[i])))
			out->content = SLAB_BYTES;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(table[i].cache, cache))
			continue;
		out->content = table[i].type[0] ? SLAB_STRUCT : SLAB_BYTES;
		out->tail = table[i].tail;
		(void)snprintf(out->type, sizeof(out->type), "%s", table[i].type);
	}
	if (out->content == SLAB_UNKNOWN)
		by_rule(cache, out);
}

void slab_module_of(const char *cache, char *out, size_t len)
{
	(void)snprintf(out, len, "%.*s", (int)strcspn(cache, "_"), cache); /* cut: no module */
}
