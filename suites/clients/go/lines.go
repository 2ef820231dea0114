package main

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// Fields of a line.
type Fields map[string]any

// Lines writes one JSON object a line, each with the stamp of our own monotonic clock, and keeps questions that wait.
type Lines struct {
	out       io.Writer
	mutex     sync.Mutex
	began     time.Time
	questions int64
	waiting   map[int64]chan *Command
}

// NewLines writes to out; the clock begins now.
func NewLines(out io.Writer) *Lines {
	return &Lines{out: out, began: time.Now(), waiting: map[int64]chan *Command{}}
}

// Say writes one line; the stamp is taken before the lock is waited for.
func (l *Lines) Say(is string, fields Fields) {
	at := time.Since(l.began).Nanoseconds()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.write(is, at, fields)
}

func (l *Lines) write(is string, at int64, fields Fields) {
	fields["is"], fields["at"] = is, at
	text, _ := json.Marshal(fields)
	_, _ = l.out.Write(append(text, '\n'))
}

// Ask says it under a number of ours and waits for the answer with that number.
func (l *Lines) Ask(is string, fields Fields) *Command {
	at := time.Since(l.began).Nanoseconds()
	answer := make(chan *Command, 1)
	l.mutex.Lock()
	l.questions++
	l.waiting[l.questions] = answer
	fields["question"] = l.questions
	l.write(is, at, fields)
	l.mutex.Unlock()
	return <-answer
}

// Answered lets the one go on who asked.
func (l *Lines) Answered(command *Command) {
	l.mutex.Lock()
	answer := l.waiting[command.Question]
	delete(l.waiting, command.Question)
	l.mutex.Unlock()
	if answer != nil {
		answer <- command
	}
}
