package limit

// Remembered returns how many addresses are held.
func (a *Attempts) Remembered() int { return len(a.young) + len(a.old) }
