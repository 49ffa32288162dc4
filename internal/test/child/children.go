package child

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// children returns the child processes of a process, which must not have ended. Linux lists
// them; on other systems there are none.
func children(of *os.Process) []*os.Process {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", of.Pid))
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
