/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads, writes and opens as whole calls: ext4's file functions, by fentry and fexit, loaded only
 * where a trial of them succeeds. What the page cache answers is in here too.
 */
#ifndef WS_EXT4_FILE_BPF_H
#define WS_EXT4_FILE_BPF_H

#define EIOCBQUEUED 529

static __always_inline struct inode *iocb_inode(struct kiocb *iocb)
{
	struct file *file = iocb ? iocb->ki_filp : NULL;

	return file ? file->f_inode : NULL;
}

/* One that goes on without its task is counted where it ends, as aio-read or aio-write. */
static __always_inline int file_io_end(u32 slot, u32 kind, struct kiocb *iocb, s64 done)
{
	if (done == -EIOCBQUEUED)
		op_forget(slot);
	else
		op_end(slot, kind, iocb_inode(iocb), done > 0 ? done : 0);
	return 0;
}

SEC("fexit/ext4_file_read_iter")
int ws_file_read_end(u64 *ctx)
{
	return file_io_end(OP_FILE_READ, ABI_EXT4_FILE_READ, (void *)ctx[0], ctx[2]);
}

SEC("fentry/ext4_file_read_iter")
int ws_file_read_begin(u64 *ctx)
{
	op_begin(OP_FILE_READ, iocb_inode((void *)ctx[0]));
	return 0;
}

SEC("fexit/ext4_file_write_iter")
int ws_file_write_end(u64 *ctx)
{
	return file_io_end(OP_FILE_WRITE, ABI_EXT4_FILE_WRITE, (void *)ctx[0], ctx[2]);
}

SEC("fentry/ext4_file_write_iter")
int ws_file_write_begin(u64 *ctx)
{
	op_begin(OP_FILE_WRITE, iocb_inode((void *)ctx[0]));
	return 0;
}

SEC("fexit/ext4_file_open")
int ws_file_open_end(u64 *ctx)
{
	op_end(OP_FILE_OPEN, ABI_EXT4_FILE_OPEN, (void *)ctx[0], 0);
	return 0;
}

SEC("fentry/ext4_file_open")
int ws_file_open_begin(u64 *ctx)
{
	op_begin(OP_FILE_OPEN, (void *)ctx[0]);
	return 0;
}

#endif
