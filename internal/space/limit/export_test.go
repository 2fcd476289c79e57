package limit

// Remembered returns how many addresses are held.
func (a *Attempts) Remembered() int { return a.buckets.Len() }

// Used returns how many bytes are held, by how many holders.
func (b *Budget) Used() (bytes int64, holders int) { return b.used, len(b.holders) }
