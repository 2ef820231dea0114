package main

import (
	"context"
	"strings"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// Consumer is one push consumer: each message is shown to the harness, which says what became of it.
type Consumer struct {
	lines  *Lines
	handle int64
	push   rocketmq.PushConsumer
}

// NewConsumer opens a member of the command's group.
func NewConsumer(lines *Lines, command *Command) (*Consumer, error) {
	made := &Consumer{lines: lines, handle: command.ID}
	options := []consumer.Option{
		consumer.WithNameServer(strings.Split(command.Nameservers, ";")),
		consumer.WithGroupName(command.Group), consumer.WithInstance(command.Instance),
		consumer.WithConsumeMessageBatchMaxSize(1), consumer.WithConsumerOrder(command.Order),
		consumer.WithConsumeFromWhere(where(command.Position)), consumer.WithStrategy(made.allocate),
	}
	if command.Broadcast {
		options = append(options, consumer.WithConsumerModel(consumer.BroadCasting))
	}
	if command.MaxTimes > 0 {
		options = append(options, consumer.WithMaxReconsumeTimes(command.MaxTimes))
	}
	var err error
	if made.push, err = rocketmq.NewPushConsumer(options...); err != nil {
		return nil, err
	}
	if err = made.push.Subscribe(command.Topic, selector(command), made.consume); err != nil {
		return nil, err
	}
	return made, made.push.Start()
}

func where(position string) consumer.ConsumeFromWhere {
	if position == "last" {
		return consumer.ConsumeFromLastOffset
	}
	return consumer.ConsumeFromFirstOffset
}

func selector(command *Command) consumer.MessageSelector {
	if command.SQL != "" {
		return consumer.MessageSelector{Type: consumer.SQL92, Expression: command.SQL}
	}
	if command.Expression != "" {
		return consumer.MessageSelector{Type: consumer.TAG, Expression: command.Expression}
	}
	return consumer.MessageSelector{}
}

// Close leaves the group.
func (c *Consumer) Close() { _ = c.push.Shutdown() }

// Suspend stops and resumes fetching.
func (c *Consumer) Suspend(on bool) {
	if on {
		c.push.Suspend()
	} else {
		c.push.Resume()
	}
}

// allocate is the client's own strategy, and a word about what it came to.
func (c *Consumer) allocate(
	group, client string, all []*primitive.MessageQueue, clients []string,
) []*primitive.MessageQueue {
	mine := consumer.AllocateByAveragely(group, client, all, clients)
	queues, topic := [][]any{}, ""
	for _, queue := range mine {
		queues = append(queues, []any{queue.BrokerName, queue.QueueId})
	}
	if len(all) > 0 {
		topic = all[0].Topic
	}
	c.lines.Say("assigned", Fields{"consumer": c.handle, "topic": topic, "queues": queues})
	return mine
}

func (c *Consumer) consume(ctx context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	orderly, isOrderly := primitive.GetOrderlyCtx(ctx)
	for _, message := range messages {
		fields := shown(message)
		fields["consumer"], fields["origin"] = c.handle, message.Topic
		queue := message.Queue
		if isOrderly && orderly.MQ.Topic != "" {
			queue = &orderly.MQ
		} else if concurrent, ok := primitive.GetConcurrentlyCtx(ctx); ok && concurrent.MQ.Topic != "" {
			queue = &concurrent.MQ
		}
		if queue != nil {
			fields["topic"], fields["broker"], fields["queue"] = queue.Topic, queue.BrokerName, queue.QueueId
		}
		if c.lines.Ask("delivering", fields).Result != "ok" {
			return failed(isOrderly), nil
		}
	}
	return consumer.ConsumeSuccess, nil
}

func failed(isOrderly bool) consumer.ConsumeResult {
	if isOrderly {
		return consumer.SuspendCurrentQueueAMoment
	}
	return consumer.ConsumeRetryLater
}
