package safety

// Mask returns text with each secret that is found in it replaced by
// [redacted:RULE], as in a payload. It is for texts that become no payload:
// those of errors, names, lines of a log.
func (d *LeakDetector) Mask(text string) string {
	body := []byte(text)
	var found []Finding
	for pass := 0; ; pass++ {
		found = d.Inspect(found[:0], Text{Body: body})
		switch {
		case len(found) == 0 && pass == 0:
			return text
		case len(found) == 0:
			return string(body)
		case pass == maxPasses:
			return marker(found[0].Rule)
		}
		body = mask(body, found)
	}
}
