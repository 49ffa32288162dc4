package sqltest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// children returns the child processes of a process. Linux lists them; without the list
// they stay unknown.
func children(pid int) []*os.Process {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	var all []*os.Process
	for word := range strings.FieldsSeq(string(list)) {
		if pid, err := strconv.Atoi(word); err == nil {
			if p, err := os.FindProcess(pid); err == nil {
				all = append(all, p)
			}
		}
	}
	return all
}
