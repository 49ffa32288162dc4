// Package weave stands for the kit's own.
package weave

func RequireWoven() {}
