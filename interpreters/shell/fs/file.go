package fs

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// File is an open file. Every open has its own position.
type File struct {
	fs     *FS
	node   *node
	name   string
	at     int64
	read   bool
	write  bool
	append bool
}

// Open opens a file. The flags are those of package os.
func (f *FS) Open(p string, flag int, mode os.FileMode) (*File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.find(p)
	write := flag&(os.O_WRONLY|os.O_RDWR) != 0
	created := false
	if err == NotExist && flag&os.O_CREATE != 0 {
		parent, name, parentErr := f.parent(p)
		if parentErr != nil {
			return nil, failed("open", p, parentErr)
		}
		if err := f.room(0, 1); err != nil {
			return nil, err
		}
		n, err, created = f.newNode(mode.Perm()&^f.umask), nil, true
		parent.children[name] = n
	}
	switch {
	case err != nil:
	case n.mode.IsDir() && write:
		err = IsDirectory
	case flag&os.O_EXCL != 0 && flag&os.O_CREATE != 0 && !created:
		err = Exist
	}
	if err != nil {
		return nil, failed("open", p, err)
	}
	if flag&os.O_TRUNC != 0 && n.device == nil {
		f.bytes -= int64(len(n.data))
		n.data = nil
		n.modified = f.now()
	}
	return &File{fs: f, node: n, name: p, read: flag&os.O_WRONLY == 0, write: write, append: flag&os.O_APPEND != 0}, nil
}

// Feeds says whether what is written to another open file is still to be read here, because both are the same file.
func (h *File) Feeds(other *File) bool {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return h.node == other.node && h.node.device == nil && h.at < int64(len(h.node.data))
}

// Name is the path with which the file was opened.
func (h *File) Name() string { return h.name }

// Info describes the open file, which may have been deleted.
func (h *File) Info() os.FileInfo {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return h.fs.info(h.name, h.node)
}

func (h *File) Read(b []byte) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	switch {
	case !h.read:
		return 0, failed("read", h.name, BadFile)
	case h.node.mode.IsDir():
		return 0, failed("read", h.name, IsDirectory)
	case h.node.device != nil:
		return h.node.device.Read(b)
	case h.at >= int64(len(h.node.data)):
		return 0, io.EOF
	}
	n := copy(b, h.node.data[h.at:])
	h.at += int64(n)
	return n, nil
}

func (h *File) Write(b []byte) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	switch {
	case !h.write:
		return 0, failed("write", h.name, BadFile)
	case h.node.device != nil:
		return h.node.device.Write(b)
	}
	if h.append {
		h.at = int64(len(h.node.data))
	}
	end := h.at + int64(len(b))
	if grown := end - int64(len(h.node.data)); grown > 0 {
		if err := h.fs.room(grown, 0); err != nil {
			return 0, err
		}
		// Bytes between the old end and the position are zeros.
		if gap := h.at - int64(len(h.node.data)); gap > 0 {
			h.node.data = append(h.node.data, make([]byte, gap)...)
		}
		kept := copy(h.node.data[h.at:], b)
		h.node.data = append(h.node.data, b[kept:]...)
	} else {
		copy(h.node.data[h.at:], b)
	}
	h.at = end
	h.node.modified = h.fs.now()
	return len(b), nil
}

// Rewind moves the position back over bytes that were read, but not used.
func (h *File) Rewind(n int) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.node.device == nil {
		h.at -= int64(n)
	}
}

// Close ends the use of the file.
func (h *File) Close() error { return nil }

// Info describes a file.
type Info struct {
	name     string
	size     int64
	mode     os.FileMode
	modified time.Time
	inode    uint64
}

func (f *FS) info(name string, n *node) *Info {
	size := int64(len(n.data))
	if n.mode.IsDir() {
		size = 4096
	}
	modified := n.modified
	if modified.IsZero() {
		modified = f.born
	}
	return &Info{name, size, n.mode, modified, n.inode}
}

// Name is the last part of the path.
func (i *Info) Name() string { return i.name }

// Size is the number of bytes.
func (i *Info) Size() int64 { return i.size }

// Mode is the type and the permissions.
func (i *Info) Mode() os.FileMode { return i.mode }

// ModTime is the time of the last change.
func (i *Info) ModTime() time.Time { return i.modified }

// IsDir says whether it is a directory.
func (i *Info) IsDir() bool { return i.mode.IsDir() }

// Sys is nothing.
func (i *Info) Sys() any { return nil }

// Inode is the number of the file, equal for two names of one file.
func (i *Info) Inode() uint64 { return i.inode }

func sizeText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

func countText(n int) string { return strconv.Itoa(n) + " files" }
