package hookconfig

import "strings"

// Bounds of a diff.
const (
	contextLines = 2
	maxTable     = 4 << 20 // cells; longer changes are shown as a whole
)

// Diff returns the lines that differ between two texts, with a - or + before each,
// and the lines around them; "" if there are none.
func Diff(before, after string) string {
	if before == after {
		return ""
	}
	a, b := lines(before), lines(after)
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var out strings.Builder
	for _, line := range a[max(0, start-contextLines):start] {
		out.WriteString("  " + line + "\n")
	}
	changes(&out, a[start:len(a)-end], b[start:len(b)-end])
	for _, line := range a[len(a)-end : min(len(a), len(a)-end+contextLines)] {
		out.WriteString("  " + line + "\n")
	}
	return out.String()
}

func lines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// changes writes the shortest edit by the table of longest common subsequences.
func changes(out *strings.Builder, a, b []string) {
	write := func(mark, line string) { out.WriteString(mark + line + "\n") }
	var longest [][]int32
	if len(a)*len(b) <= maxTable {
		longest = make([][]int32, len(a)+1)
		for i := range longest {
			longest[i] = make([]int32, len(b)+1)
		}
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
				if a[i] == b[j] {
					longest[i][j] = longest[i+1][j+1] + 1
				}
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case longest != nil && i < len(a) && j < len(b) && a[i] == b[j]:
			write("  ", a[i])
			i, j = i+1, j+1
		case i < len(a) && (longest == nil || j == len(b) || longest[i+1][j] >= longest[i][j+1]):
			write("- ", a[i])
			i++
		default:
			write("+ ", b[j])
			j++
		}
	}
}
