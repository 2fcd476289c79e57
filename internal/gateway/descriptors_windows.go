package gateway

// descriptorLimit returns how many sockets this process should have open.
// Windows has no limit for a process; this one bounds the memory.
func descriptorLimit() uint64 { return 1 << 16 }
