package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

const (
	changelog  = "CHANGELOG.md"
	unreleased = "## [Unreleased]\n"
	compare    = "https://" + library + "/compare/"
)

var (
	sections = regexp.MustCompile(`(?m)^## \[([^\]]+)\](.*)$`)
	dated    = regexp.MustCompile(`^ - \d{4}-\d{2}-\d{2}$`)
	links    = regexp.MustCompile(`(?m)^\[[^\]]+\]: `)
)

// notes returns what the CHANGELOG says about a version, without the heading and the
// definitions of links.
func notes(text, version string) (string, error) {
	name := strings.TrimPrefix(version, "v")
	for _, at := range sections.FindAllStringSubmatchIndex(text, -1) {
		if text[at[2]:at[3]] != name {
			continue
		}
		if date := text[at[4]:at[5]]; !dated.MatchString(date) {
			return "", fmt.Errorf("%s: the section of %s has no date: %q", changelog, name, date)
		}
		body := text[at[1]:]
		if next := sections.FindStringIndex(body); next != nil {
			body = body[:next[0]]
		}
		if definitions := links.FindStringIndex(body); definitions != nil {
			body = body[:definitions[0]]
		}
		if body = strings.TrimSpace(body); body == "" {
			return "", fmt.Errorf("%s: the section of %s is empty", changelog, name)
		}
		return body, nil
	}
	return "", fmt.Errorf("%s has no section of %s", changelog, name)
}

// closed returns the CHANGELOG with the unreleased changes as those of a version. A
// CHANGELOG that has a section of the version stays as it is.
func closed(text, version string, day time.Time) (string, error) {
	name := strings.TrimPrefix(version, "v")
	if strings.Contains(text, "## ["+name+"]") {
		return text, nil
	}
	link := regexp.MustCompile(`(?m)^\[Unreleased\]: ` + regexp.QuoteMeta(compare) + `(v\S+)\.\.\.HEAD$`)
	previous := link.FindStringSubmatch(text)
	if previous == nil || strings.Count(text, unreleased) != 1 {
		return "", fmt.Errorf("%s has no section [Unreleased], or no link for it", changelog)
	}
	text = strings.Replace(text, unreleased, unreleased+"\n## ["+name+"] - "+day.Format(time.DateOnly)+"\n", 1)
	text = link.ReplaceAllString(text, "[Unreleased]: "+compare+version+"...HEAD\n["+name+"]: "+compare+previous[1]+"..."+version)
	if _, err := notes(text, version); err != nil {
		return "", err
	}
	return text, nil
}
