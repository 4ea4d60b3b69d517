// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/slab_types.h"

#include <stdio.h>
#include <string.h>

/* Only those that the rule (the struct's name, or that and _cache) does not find. */
static const struct {
	const char *cache, *type; /* type "": bytes */
	bool tail;
} table[] = {
	{"AF_VSOCK", "vsock_sock", false},
	{"MPTCP", "mptcp_sock", false},
	{"MPTCPv6", "mptcp6_sock", false},
	{"PING", "inet_sock", false},
	{"PINGv6", "raw6_sock", false},
	{"RAW", "raw_sock", false},
	{"RAWv6", "raw6_sock", false},
	{"TCP", "tcp_sock", false},
	{"TCPv6", "tcp6_sock", false},
	{"UDP", "udp_sock", false},
	{"UDP-Lite", "udp_sock", false},
	{"UDPLITEv6", "udp6_sock", false},
	{"UDPv6", "udp6_sock", false},
	{"UNIX", "unix_sock", false},
	{"UNIX-STREAM", "unix_sock", false},
	{"bdev_cache", "bdev_inode", false},
	{"bfilp", "backing_file", false},
	{"blkdev_ioc", "io_context", false},
	{"btrfs_extent_buffer", "extent_buffer", false},
	{"btrfs_extent_map", "extent_map", false},
	{"btrfs_extent_state", "extent_state", false},
	{"btrfs_inode_defrag", "inode_defrag", false},
	{"btrfs_prelim_ref", "prelim_ref", false},
	{"cred_jar", "cred", false},
	{"dax_cache", "dax_device", false},
	{"debugfs_inode_cache", "debugfs_inode_info", false},
	{"ep_head", "epitems_head", false},
	{"eventpoll_epi", "epitem", false},
	{"eventpoll_pwq", "eppoll_entry", false},
	{"ext4_groupinfo_16k", "ext4_group_info", true},
	{"ext4_groupinfo_1k", "ext4_group_info", true},
	{"ext4_groupinfo_2k", "ext4_group_info", true},
	{"ext4_groupinfo_32k", "ext4_group_info", true},
	{"ext4_groupinfo_4k", "ext4_group_info", true},
	{"ext4_groupinfo_64k", "ext4_group_info", true},
	{"ext4_groupinfo_8k", "ext4_group_info", true},
	{"ext4_inode_cache", "ext4_inode_info", false},
	{"fasync_cache", "fasync_struct", false},
	{"file_lock_ctx", "file_lock_context", false},
	{"files_cache", "files_struct", false},
	{"filp", "file", false},
	{"fs_cache", "fs_struct", false},
	{"fuse_request", "fuse_req", false},
	{"hugetlbfs_inode_cache", "hugetlbfs_inode_info", false},
	{"inode_cache", "inode", false},
	{"iommu_iova", "iova", false},
	{"iommu_iova_magazine", "iova_magazine", false},
	{"ip6_dst_cache", "rt6_info", false},
	{"ip_dst_cache", "rtable", false},
	{"jbd2_journal_head", "journal_head", false},
	{"jbd2_transaction_s", "transaction_s", false},
	{"key_jar", "key", false},
	{"kvm_mmu_page_header", "kvm_mmu_page", false},
	{"mm_struct", "mm_struct", true},
	{"mnt_cache", "mount", false},
	{"mqueue_inode_cache", "mqueue_inode_info", false},
	{"names_cache", "", false},
	{"net_namespace", "net", false},
	{"nf_conntrack", "nf_conn", false},
	{"numa_policy", "mempolicy", false},
	{"page->ptl", "spinlock", false},
	{"pid", "pid", true},
	{"pid_2", "pid", true},
	{"pid_3", "pid", true},
	{"posix_timers_cache", "k_itimer", false},
	{"proc_dir_entry", "proc_dir_entry", true},
	{"proc_inode_cache", "proc_inode", false},
	{"radix_tree_node", "xa_node", false},
	{"request_sock_TCP", "tcp_request_sock", false},
	{"request_sock_TCPv6", "tcp_request_sock", false},
	{"shared_policy_node", "sp_node", false},
	{"shmem_inode_cache", "shmem_inode_info", false},
	{"sighand_cache", "sighand_struct", false},
	{"signal_cache", "signal_struct", false},
	{"skbuff_ext_cache", "skb_ext", true},
	{"skbuff_fclone_cache", "sk_buff_fclones", false},
	{"skbuff_head_cache", "sk_buff", false},
	{"sock_inode_cache", "socket_alloc", false},
	{"squashfs_inode_cache", "squashfs_inode_info", false},
	{"task_struct", "task_struct", true},
	{"tcp_bind2_bucket", "inet_bind2_bucket", false},
	{"tcp_bind_bucket", "inet_bind_bucket", false},
	{"tw_sock_TCP", "tcp_timewait_sock", false},
	{"uid_cache", "user_struct", false},
	{"xfs_buf_item", "xfs_buf_log_item", false},
	{"xfs_ili", "xfs_inode_log_item", false},
	{"xfs_log_ticket", "xlog_ticket", false},
};

/* Scatter lists, pages' worth of data, ACPI's objects: none of them has a lock. */
static const char *const byte_prefixes[] = {"sgpool-", "biovec-", "skbuff_small_head", "Acpi-"};

bool slab_is_general(const char *cache)
{
	return strstr(cache, "kmalloc") != NULL; /* kmalloc-64, dma-kmalloc-64, kmalloc-rnd-01-64 */
}

static void by_rule(const char *cache, struct slab_type *out)
{
	size_t n = strlen(cache);

	out->content = SLAB_STRUCT;
	(void)snprintf(out->type, sizeof(out->type), "%s", cache); /* cut: no struct */
	if (n > 6 && !strcmp(cache + n - 6, "_cache"))
		(void)snprintf(out->other, sizeof(out->other), "%.*s", (int)n - 6, cache);
}

void slab_type_of(const char *cache, struct slab_type *out)
{
	memset(out, 0, sizeof(*out));
	if (slab_is_general(cache))
		return;
	for (size_t i = 0; i < sizeof(byte_prefixes) / sizeof(byte_prefixes[0]); i++)
		if (!strncmp(cache, byte_prefixes[i], strlen(byte_prefixes[i])))
			out->content = SLAB_BYTES;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
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
