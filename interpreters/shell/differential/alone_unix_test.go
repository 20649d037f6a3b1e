//go:build unix

package differential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// mostProcesses is how many processes a command may have at the same time. A command with more is ended.
const mostProcesses = 200

// spareProcesses is how many processes the system gives to a command. It is more than mostProcesses, because the system counts all
// processes of the user, who may start others in the meantime.
const spareProcesses = 1000

// counted is how often the processes are counted.
const counted = 20 * time.Millisecond

// nobody runs the commands where the user of the tests is root, to whom the limit of the system does not apply.
const nobody = 65534

var errTooManyProcesses = errors.New("the command has too many processes at the same time")

// runAlone runs a command in its folder, and returns what it prints. What the command starts ends with it, however much that is, and all of it ends when it has
// too many processes. The limit of the system keeps a command from starting them faster than they are counted.
func runAlone(command *exec.Cmd) (out, errs string, err error) {
	limit, err := limitOfProcesses()
	if err != nil {
		return "", "", err
	}
	command.Path, command.Args = limit.program, append([]string{"prlimit", limit.option, command.Path}, command.Args[1:]...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: limit.user}
	if limit.user != nil {
		if err := giveAway(command.Dir); err != nil {
			return "", "", err
		}
	}
	stdout, err := newOutput(limit)
	if err != nil {
		return "", "", err
	}
	stderr, err := newOutput(limit)
	if err != nil {
		return "", "", err
	}
	command.Stdout, command.Stderr = stdout.writer, stderr.writer
	end := func() error {
		err := syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	command.Cancel = end
	err = command.Start()
	stdout.writer.Close()
	stderr.writer.Close()
	if err != nil {
		return stdout.text(), stderr.text(), err
	}
	ended, watched := make(chan struct{}), make(chan bool, 1)
	go func() {
		ticks := time.NewTicker(counted)
		defer ticks.Stop()
		for {
			select {
			case <-ended:
				watched <- false
				return
			case <-ticks.C:
			}
			if processesOf(command.Process.Pid) > mostProcesses {
				// The signal reaches each of the group at once: none has the time to start another.
				_ = end()
				watched <- true
				return
			}
		}
	}()
	err = command.Wait()
	// What the command left in the background has a second to end.
	patience, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if !stdout.ends(patience) || !stderr.ends(patience) {
		err = exec.ErrWaitDelay
	}
	close(ended)
	tooMany := <-watched
	_ = end()
	if tooMany {
		err = errTooManyProcesses
	}
	return stdout.text(), stderr.text(), err
}

// output is a pipe of the user who runs a command, so that it can open /dev/stdout.
type output struct {
	reader, writer *os.File
	buffer         bytes.Buffer
	done           chan struct{}
}

func newOutput(limit processLimit) (*output, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if limit.user != nil {
		if err := writer.Chown(nobody, nobody); err != nil {
			return nil, err
		}
	}
	o := &output{reader: reader, writer: writer, done: make(chan struct{})}
	go func() {
		_, _ = io.Copy(&o.buffer, reader)
		close(o.done)
	}()
	return o, nil
}

// ends waits until nobody can write to the output.
func (o *output) ends(patience context.Context) bool {
	select {
	case <-o.done:
		return true
	case <-patience.Done():
		return false
	}
}

// text is what was written until now. Nothing is read after it.
func (o *output) text() string {
	o.reader.Close()
	<-o.done
	return o.buffer.String()
}

// processLimit is a limit of the system.
type processLimit struct {
	program, option string
	// user is who runs the command, where it is not the user of the tests.
	user *syscall.Credential
}

// limitOfProcesses is the limit for each command. It fails where the processes cannot be limited.
var limitOfProcesses = sync.OnceValues(func() (processLimit, error) {
	program, err := exec.LookPath("prlimit")
	if err != nil {
		return processLimit{}, fmt.Errorf("the processes of a script cannot be limited: %w", err)
	}
	if processesOf(syscall.Getpgrp()) == 0 {
		return processLimit{}, errors.New("the processes of a script cannot be counted: /proc is not here")
	}
	limit := processLimit{program: program}
	user := os.Getuid()
	if user == 0 {
		user = nobody
		limit.user = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	limit.option = fmt.Sprint("--nproc=", threadsOf(user)+spareProcesses)
	return limit, nil
})

// canLimitProcesses says why a script that may start processes without end cannot run here.
func canLimitProcesses() error {
	_, err := limitOfProcesses()
	return err
}

// giveAway makes nobody the owner of a folder and of what is in it.
func giveAway(folder string) error {
	return filepath.Walk(folder, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
}

// processesOf counts the processes of a group.
func processesOf(group int) int {
	count := 0
	eachProcess("stat", func(text []byte) {
		// The name of the program, in brackets, can have spaces. After it come the state, the parent and the group.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) > 2 && string(fields[2]) == strconv.Itoa(group) {
			count++
		}
	})
	return count
}

// threadsOf counts the threads of a user: for the system, each is a process.
func threadsOf(user int) int {
	count := 0
	eachProcess("status", func(text []byte) {
		owner, threads := -1, 0
		for line := range bytes.Lines(text) {
			fields := bytes.Fields(line)
			if len(fields) < 2 {
				continue
			}
			switch number, err := strconv.Atoi(string(fields[1])); {
			case err != nil:
			case string(fields[0]) == "Uid:":
				owner = number
			case string(fields[0]) == "Threads:":
				threads = number
			}
		}
		if owner == user {
			count += threads
		}
	})
	return count
}

// eachProcess reads a file of each process.
func eachProcess(name string, use func([]byte)) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		if text, err := os.ReadFile(filepath.Join("/proc", entry.Name(), name)); err == nil {
			use(text)
		}
	}
}
