"""The exports of other programs as dialogues: tickets, chat logs, tables of messages."""
