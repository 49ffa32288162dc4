package doctor

import "golang.org/x/sys/unix"

// networkFileSystems are the file systems that are not on this machine.
var networkFileSystems = map[uint32]string{
	unix.NFS_SUPER_MAGIC: "nfs", unix.SMB_SUPER_MAGIC: "smb", unix.SMB2_SUPER_MAGIC: "smb2", unix.CIFS_SUPER_MAGIC: "cifs",
	unix.V9FS_MAGIC: "9p", unix.AFS_SUPER_MAGIC: "afs", unix.CEPH_SUPER_MAGIC: "ceph", unix.CODA_SUPER_MAGIC: "coda",
	unix.NCP_SUPER_MAGIC: "ncp", unix.FUSE_SUPER_MAGIC: "fuse",
}

// fileSystemOf returns the kind of a directory's file system, or "local"; "" if it is not
// known.
func fileSystemOf(dir string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return ""
	}
	if name, network := networkFileSystems[uint32(s.Type)]; network { // its type differs between machines
		return name
	}
	return "local"
}
