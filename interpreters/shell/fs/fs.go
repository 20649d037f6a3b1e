// Package fs is the file system of one run: files in memory, bounded, and gone when the run ends.
//
// It never touches the files of the machine. It has no links, no users and no sockets, because no hook can keep anything
// beyond its run.
package fs

import (
	"bytes"
	"io"
	"os"
	"path"
	"sort"
	"strings"
	"sync"
	"time"
)

// Errno is an error of the file system, with the text that programs of Unix print.
type Errno string

// The errors that operations return, each in an *os.PathError.
const (
	NotExist    Errno = "No such file or directory"
	Exist       Errno = "File exists"
	IsDirectory Errno = "Is a directory"
	NotDir      Errno = "Not a directory"
	NotEmpty    Errno = "Directory not empty"
	Permission  Errno = "Permission denied"
	Invalid     Errno = "Invalid argument"
	BadFile     Errno = "Bad file descriptor"
	NameTooLong Errno = "File name too long"
)

func (e Errno) Error() string { return string(e) }

// Limits bound what a run can store.
type Limits struct {
	Bytes int64 // contents of all files together
	Files int   // files and directories
}

// FullError says that a run exceeded a limit. It ends the run, because a script that goes on after a failed write would
// do something else than the same script elsewhere.
type FullError struct{ What, Limit string }

func (e *FullError) Error() string {
	return "the files of the run exceed the limit of " + e.Limit + ": write fewer " + e.What
}

// FS is a tree of files. Its methods can be called from several goroutines.
type FS struct {
	mu     sync.Mutex
	root   *node
	limits Limits
	bytes  int64
	files  int
	inodes uint64
	// now is nil until the run begins, and born is when that was.
	now   func() time.Time
	born  time.Time
	umask os.FileMode
}

type node struct {
	mode     os.FileMode
	data     []byte
	children map[string]*node
	modified time.Time
	device   Device
	inode    uint64
}

// Device is the behavior of a file that is not stored.
type Device interface {
	Read([]byte) (int, error)
	Write([]byte) (int, error)
}

// New returns a file system with /tmp and /dev/null. Without a clock, it is that of a run which has not begun.
func New(limits Limits, now func() time.Time) *FS {
	f := &FS{limits: limits, now: now, umask: 0o022}
	f.root = f.newNode(os.ModeDir | 0o755)
	f.MustMkdirAll("/tmp")
	f.MustMkdirAll("/dev")
	f.root.children["tmp"].mode = os.ModeDir | os.ModeSticky | 0o777
	f.AddDevice("/dev/null", null{})
	f.AddDevice("/dev/zero", zero{})
	return f
}

// Begin begins the run. What is there already is as old as the run.
func (f *FS) Begin(now func() time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now, f.born = now, now()
}

type null struct{}

func (null) Read([]byte) (int, error)    { return 0, io.EOF }
func (null) Write(b []byte) (int, error) { return len(b), nil }

type zero struct{ null }

func (zero) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// AddDevice puts a device in the tree.
func (f *FS) AddDevice(p string, device Device) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.newNode(os.ModeDevice | os.ModeCharDevice | 0o666)
	n.device = device
	if parent, err := f.find(path.Dir(p)); err == nil {
		parent.children[path.Base(p)] = n
	}
}

func (f *FS) newNode(mode os.FileMode) *node {
	f.inodes++
	n := &node{mode: mode, inode: f.inodes}
	if f.now != nil {
		n.modified = f.now()
	}
	if mode.IsDir() {
		n.children = map[string]*node{}
	}
	return n
}

// find walks to a node. p is absolute and need not be clean.
func (f *FS) find(p string) (*node, error) {
	at := f.root
	clean := path.Clean(p)
	for _, name := range strings.Split(strings.Trim(clean, "/"), "/") {
		if name == "" {
			continue
		}
		if at.children == nil {
			return nil, NotDir
		}
		next := at.children[name]
		if next == nil {
			return nil, NotExist
		}
		at = next
	}
	if strings.HasSuffix(p, "/") && !at.mode.IsDir() {
		return nil, NotDir
	}
	return at, nil
}

// parent returns the directory of p, and the last name in it.
func (f *FS) parent(p string) (*node, string, error) {
	clean := path.Clean(p)
	n, err := f.find(path.Dir(clean))
	if err != nil {
		return nil, "", err
	}
	if n.children == nil {
		return nil, "", NotDir
	}
	name := path.Base(clean)
	if len(name) > 255 {
		return nil, "", NameTooLong
	}
	return n, name, nil
}

func failed(op, p string, err error) error { return &os.PathError{Op: op, Path: p, Err: err} }

// room accounts for bytes and files that are about to be added.
func (f *FS) room(bytes int64, files int) error {
	if bytes > 0 && f.bytes+bytes > f.limits.Bytes {
		return &FullError{"bytes", sizeText(f.limits.Bytes)}
	}
	if files > 0 && f.files+files > f.limits.Files {
		return &FullError{"files", countText(f.limits.Files)}
	}
	f.bytes += bytes
	f.files += files
	return nil
}

// Stat describes a file.
func (f *FS) Stat(p string) (os.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.find(p)
	if err != nil {
		return nil, failed("stat", p, err)
	}
	return f.info(path.Base(path.Clean(p)), n), nil
}

// ReadDir lists a directory, sorted by name.
func (f *FS) ReadDir(p string) ([]os.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.find(p)
	if err == nil && n.children == nil {
		err = NotDir
	}
	if err != nil {
		return nil, failed("open", p, err)
	}
	infos := make([]os.FileInfo, 0, len(n.children))
	for name, child := range n.children {
		infos = append(infos, f.info(name, child))
	}
	sort.Slice(infos, func(i, j int) bool { return infos[i].Name() < infos[j].Name() })
	return infos, nil
}

// Mkdir makes one directory.
func (f *FS) Mkdir(p string, mode os.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	parent, name, err := f.parent(p)
	if err == nil && (parent.children[name] != nil || name == "/") {
		err = Exist
	}
	if err == nil {
		err = f.room(0, 1)
	}
	if err != nil {
		return failed("mkdir", p, err)
	}
	parent.children[name] = f.newNode(os.ModeDir | mode.Perm()&^f.umask)
	return nil
}

// MustMkdirAll makes a directory and those above it. It is for the set-up of a run, where nothing is in the way.
func (f *FS) MustMkdirAll(p string) {
	at := f.root
	for _, name := range strings.Split(strings.Trim(path.Clean(p), "/"), "/") {
		if name == "" || at.children == nil {
			continue
		}
		if at.children[name] == nil {
			at.children[name] = f.newNode(os.ModeDir | 0o755)
		}
		at = at.children[name]
	}
}

// Remove deletes a file or an empty directory.
func (f *FS) Remove(p string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	parent, name, err := f.parent(p)
	if err != nil {
		return failed("remove", p, err)
	}
	n := parent.children[name]
	switch {
	case n == nil:
		return failed("remove", p, NotExist)
	case len(n.children) > 0:
		return failed("remove", p, NotEmpty)
	}
	delete(parent.children, name)
	f.release(n)
	return nil
}

func (f *FS) release(n *node) {
	f.files--
	f.bytes -= int64(len(n.data))
	for _, child := range n.children {
		f.release(child)
	}
}

// RemoveAll deletes a file, or a directory with all that is in it.
func (f *FS) RemoveAll(p string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	parent, name, err := f.parent(p)
	if err != nil {
		return failed("remove", p, err)
	}
	n := parent.children[name]
	if n == nil {
		return failed("remove", p, NotExist)
	}
	delete(parent.children, name)
	f.release(n)
	return nil
}

// Rename moves a file or a directory.
func (f *FS) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fromDir, fromName, err := f.parent(from)
	if err == nil && fromDir.children[fromName] == nil {
		err = NotExist
	}
	if err != nil {
		return failed("rename", from, err)
	}
	toDir, toName, err := f.parent(to)
	if err != nil {
		return failed("rename", to, err)
	}
	n := fromDir.children[fromName]
	old := toDir.children[toName]
	switch {
	case old == n:
		return nil
	case n.mode.IsDir() && strings.HasPrefix(path.Clean(to)+"/", path.Clean(from)+"/"):
		return failed("rename", to, Invalid)
	case old != nil && old.mode.IsDir() && !n.mode.IsDir():
		return failed("rename", to, IsDirectory)
	case old != nil && !old.mode.IsDir() && n.mode.IsDir():
		return failed("rename", to, NotDir)
	case old != nil && len(old.children) > 0:
		return failed("rename", to, NotEmpty)
	}
	if old != nil {
		f.release(old)
	}
	toDir.children[toName] = n
	delete(fromDir.children, fromName)
	return nil
}

// Chmod sets the permissions.
func (f *FS) Chmod(p string, mode os.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.find(p)
	if err != nil {
		return failed("chmod", p, err)
	}
	n.mode = n.mode.Type() | mode.Perm()
	return nil
}

// Touch sets the time of modification.
func (f *FS) Touch(p string, at time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.find(p)
	if err != nil {
		return failed("touch", p, err)
	}
	n.modified = at
	return nil
}

// Umask sets the permissions that new files do not get, and returns the previous ones.
func (f *FS) Umask(mask os.FileMode) os.FileMode {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.umask
	f.umask = mask
	return old
}

// Put stores a file for the run, with the directories above it.
func (f *FS) Put(p string, data []byte, mode os.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.MustMkdirAll(path.Dir(p))
	parent, name, err := f.parent(p)
	if err != nil {
		return failed("open", p, err)
	}
	if err := f.room(int64(len(data)), 1); err != nil {
		return err
	}
	n := f.newNode(mode)
	n.data = data
	parent.children[name] = n
	return nil
}

// ReadFile returns the contents of a file.
func (f *FS) ReadFile(p string) ([]byte, error) {
	h, err := f.Open(p, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	data, file := h.node.data, h.node.device == nil && !h.node.mode.IsDir()
	if file {
		data = bytes.Clone(data)
	}
	f.mu.Unlock()
	if file {
		return data, nil
	}
	return io.ReadAll(h)
}

// Walk calls visit for a file, and for all that is below it, in order of names.
func (f *FS) Walk(p string, visit func(string, os.FileInfo) error) error {
	info, err := f.Stat(p)
	if err != nil {
		return err
	}
	if err := visit(p, info); err != nil || !info.IsDir() {
		return err
	}
	children, err := f.ReadDir(p)
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := f.Walk(strings.TrimSuffix(p, "/")+"/"+child.Name(), visit); err != nil {
			return err
		}
	}
	return nil
}
