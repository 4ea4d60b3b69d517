// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Super blocks and inodes, recognised by what they point at rather than remembered: a super block's
 * root has that super block, ext4's own part points back at it, and an inode lies where a word is a
 * known super block and the page cache beside it has that inode for its host.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/array.h"
#include "names/kernel.h"

#define EXT4_MAGIC 0xef53
#define SUPERS_MAX 65536       /* the list is another's; it may turn in circles while it changes */
#define OLD_NS 1000000000ULL   /* mounted since? */
#define WINDOW_MAX (2U * 8192) /* bytes looked at around an address */
#define PAGE_BYTES 4096U

/* Offsets, looked up once a walk. */
struct layout {
	int64_t task_fs, root_mnt, mnt_sb;
	int64_t list, dev, magic, id, info, type, root, dentry_sb, type_name;
	int64_t ext4_sb, journal; /* negative: ext4 is not there, or has no types */
	int64_t size;
};

static int read_layout(struct names_kernel *k, struct layout *l)
{
	const struct kernel_member want[] = {
		{&l->task_fs, "task_struct", "fs"},  {&l->root_mnt, "fs_struct", "root.mnt"},
		{&l->mnt_sb, "vfsmount", "mnt_sb"},  {&l->list, "super_block", "s_list"},
		{&l->dev, "super_block", "s_dev"},   {&l->magic, "super_block", "s_magic"},
		{&l->id, "super_block", "s_id"},     {&l->info, "super_block", "s_fs_info"},
		{&l->type, "super_block", "s_type"}, {&l->root, "super_block", "s_root"},
		{&l->dentry_sb, "dentry", "d_sb"},   {&l->type_name, "file_system_type", "name"},
	};

	if (kernel_offsets(k, want, sizeof(want) / sizeof(want[0])))
		return -ENOENT;
	l->ext4_sb = kernel_offset(k, "ext4_sb_info", "s_sb");
	l->journal = kernel_offset(k, "ext4_sb_info", "s_journal");
	l->size = kernel_size(k, "super_block", NULL);
	return l->size > 0 && l->size <= PAGE_BYTES ? 0 : -EINVAL;
}

static uint64_t word(const uint8_t *p, int64_t at)
{
	uint64_t v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

static int add_super(struct names_kernel *k, const struct layout *l, uint64_t sb,
		     const uint8_t *bytes)
{
	struct supers *s = &k->supers;
	uint64_t info = word(bytes, l->info);
	struct super *one = array_room(s->v, &s->cap, s->n, 1, sizeof(*one));

	if (!one)
		return -ENOMEM;
	s->v = one;
	one += s->n++;
	*one = (struct super){.sb = sb};
	memcpy(&one->dev, bytes + l->dev, sizeof(one->dev));
	memcpy(one->id, bytes + l->id, sizeof(one->id) - 1);
	peek_text(&k->peek, kernel_at(k, word(bytes, l->type), l->type_name), one->type,
		  sizeof(one->type));
	if (word(bytes, l->magic) == EXT4_MAGIC && kernel_at(k, info, l->ext4_sb) == sb)
		one->sbi = info;
	one->journal = kernel_at(k, one->sbi, l->journal);
	return 0;
}

static int walk_supers(struct names_kernel *k, const struct layout *l)
{
	uint64_t fs = kernel_at(k, peek_task(&k->peek), l->task_fs);
	uint64_t first = kernel_at(k, kernel_at(k, fs, l->root_mnt), l->mnt_sb), sb = first;
	uint8_t bytes[PAGE_BYTES];
	int left = SUPERS_MAX, ret = first ? 0 : -ENOTSUP;

	k->supers.n = 0;
	while (!ret && left--) {
		ret = peek_read(&k->peek, sb, bytes, (size_t)l->size);
		/* To the head of the list no root points back, nor to those not yet or no longer
		 * mounted. */
		if (!ret && kernel_at(k, word(bytes, l->root), l->dentry_sb) == sb)
			ret = add_super(k, l, sb, bytes);
		if (ret)
			break;
		sb = word(bytes, l->list) - (uint64_t)l->list;
		if (sb == first)
			break;
	}
	return ret;
}

/* The list, or one no older than a second if `fresh`. */
static bool ready(struct names_kernel *k, bool fresh)
{
	struct supers *s = &k->supers;
	uint64_t now = clock_mono_ns();
	struct layout l;

	if (s->read_at_ns && (!fresh || now - s->read_at_ns < OLD_NS))
		return s->n > 0;
	s->read_at_ns = now;
	if (kernel_peek_ready(k) && !read_layout(k, &l))
		(void)walk_supers(k, &l); /* what was found before it failed is as true */
	return s->n > 0;
}

void supers_close(struct supers *s)
{
	free(s->v);
	memset(s, 0, sizeof(*s));
}

/* ---- super blocks, and ext4's own part ---- */

static bool super_name(struct names_kernel *k, uint64_t addr, struct name *out)
{
	for (size_t i = 0; i < k->supers.n; i++) {
		const struct super *s = &k->supers.v[i];

		/* The journal's types are another module's, only looked for where it may be. */
		if (!(kernel_name_in(k, addr, s->sb, "super_block", NULL, out) ||
		      (s->sbi && kernel_name_in(k, addr, s->sbi, "ext4_sb_info", "ext4", out)) ||
		      (s->journal && addr - s->journal < PAGE_BYTES &&
		       kernel_name_in(k, addr, s->journal, "journal_s", "jbd2", out))))
			continue;
		out->inode.ext4 = s->sbi;
		out->inode.dev = s->dev;
		name_print(out->place, sizeof(out->place), false, "%s on %u:%u", s->id,
			   s->dev >> 20, s->dev & 0xfffff);
		return true;
	}
	return false;
}

bool ext4_name(struct names_kernel *k, uint64_t addr, struct name *out)
{
	return ready(k, false) && super_name(k, addr, out);
}

/* ---- inodes ---- */

struct inode_layout {
	int64_t i_sb, host, ino, generation, size;
	int64_t vfs_inode, ext4_size; /* of ext4_inode_info; negative: not there */
};

static int read_inode_layout(struct names_kernel *k, struct inode_layout *l)
{
	const struct kernel_member want[] = {
		{&l->i_sb, "inode", "i_sb"},
		{&l->host, "inode", "i_data.host"},
		{&l->ino, "inode", "i_ino"},
		{&l->generation, "inode", "i_generation"},
	};

	if (kernel_offsets(k, want, sizeof(want) / sizeof(want[0])))
		return -ENOENT;
	l->vfs_inode = kernel_offset(k, "ext4_inode_info", "vfs_inode");
	l->size = kernel_size(k, "inode", NULL);
	l->ext4_size = kernel_size(k, "ext4_inode_info", "ext4");
	return l->size > 0 && l->size < WINDOW_MAX / 2 && l->ext4_size < WINDOW_MAX / 2 ? 0
											: -EINVAL;
}

static const struct super *find_super(const struct names_kernel *k, uint64_t sb)
{
	for (size_t i = 0; sb && i < k->supers.n; i++)
		if (k->supers.v[i].sb == sb)
			return &k->supers.v[i];
	return NULL;
}

/*
 * What is left of an inode in memory that has since become something else looks like one. Where
 * slabs can be told, it must lie in an object as an inode does: ext4's from its beginning.
 */
static bool is_inode_memory(struct names_kernel *k, uint64_t object, uint64_t size, bool first)
{
	uint64_t start;
	uint32_t bytes;

	if (!pages_known(k))
		return true;
	if (!slab_object(k, object, &start, &bytes))
		return false;
	return (first ? start == object : start <= object) && object - start + size <= bytes;
}

static bool name_inode_at(struct names_kernel *k, const struct inode_layout *l, uint64_t addr,
			  uint64_t inode, const struct super *s, struct name *out)
{
	bool ext4 = s->sbi && l->vfs_inode >= 0;
	uint64_t object = ext4 ? inode - (uint64_t)l->vfs_inode : inode;

	if (!is_inode_memory(k, object, (uint64_t)(ext4 ? l->ext4_size : l->size), ext4) ||
	    !kernel_name_in(k, addr, object, ext4 ? "ext4_inode_info" : "inode",
			    ext4 ? "ext4" : NULL, out))
		return false;
	out->inode.known = true;
	out->inode.ext4 = ext4;
	out->inode.dev = s->dev;
	out->inode.ino = kernel_at(k, inode, l->ino);
	out->inode.generation = peek_u32(&k->peek, inode + (uint64_t)l->generation);
	name_print(out->place, sizeof(out->place), false, "inode %" PRIu64 " on %u:%u%s%s",
		   out->inode.ino, s->dev >> 20, s->dev & 0xfffff, ext4 ? "" : " ",
		   ext4 ? "" : s->type);
	return true;
}

static bool inode_near(struct names_kernel *k, const struct inode_layout *l, uint64_t addr,
		       struct name *out)
{
	uint64_t half = ((uint64_t)(l->ext4_size > l->size ? l->ext4_size : l->size) + 8) & ~7ULL;
	uint64_t from = (addr & ~7ULL) - half, at;
	uint8_t bytes[WINDOW_MAX];

	if (from > addr)
		return false;
	peek_window(&k->peek, from, bytes, 2 * half);
	for (at = 0; at < 2 * half; at += 8) {
		const struct super *s = find_super(k, word(bytes, (int64_t)at));
		uint64_t inode = from + at - (uint64_t)l->i_sb;

		if (s && kernel_at(k, inode, l->host) == inode &&
		    name_inode_at(k, l, addr, inode, s, out))
			return true;
	}
	return false;
}

/* An address that nobody knows may be of a file system mounted since: then a second look. */
bool inode_name(struct names_kernel *k, uint64_t addr, struct name *out)
{
	uint64_t before = k->supers.read_at_ns;
	struct inode_layout l;

	if (!ready(k, false) || read_inode_layout(k, &l))
		return false;
	if (inode_near(k, &l, addr, out))
		return true;
	if (!before || !ready(k, true) || k->supers.read_at_ns == before)
		return false;
	return super_name(k, addr, out) || inode_near(k, &l, addr, out);
}
