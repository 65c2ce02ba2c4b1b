// What the annotator's page says, in the language of its dialogues.
const TEXTS = {
  en: {
    dialogue: "Dialogue", practice: "Practice", of: "of", missing: "an emoji or a photo",
    whole: "The whole dialogue", turns: "Then each turn", finish: "Finish and go on", skip: "Skip this dialogue",
    comment: "A remark on this dialogue (optional)", instructions: "What to do",
    left: (n) => (n ? `${n} ${n === 1 ? "question has" : "questions have"} no answer yet` : "all questions are answered"),
    saved: "saved", saving: "saving…", offline: (n) => `no connection: ${n} to send, kept in this browser`,
    pace: (s, h) => `about ${s} a dialogue${h ? `, ${h} left` : ""}`,
    done: "All done. Thank you.", doneMore: "There is no dialogue left for you. You can close this page.",
    closed: "The project is closed. Thank you for your votes.", revoked: "This link does not work any more.",
    others: "What others said", own: "you", next: "Next dialogue", help: "Help",
    keys: "Keys: 1 to 9 answer, ↑ ↓ go between questions, ← → between answers, Backspace takes an answer away, Enter goes on.",
    gone: "This dialogue was given to somebody else; here is another one.",
  },
  zh: {
    dialogue: "对话", practice: "练习", of: "/", missing: "表情或图片",
    whole: "整个对话", turns: "然后逐轮标注", finish: "完成并继续", skip: "跳过这个对话",
    comment: "对这个对话的备注（可选）", instructions: "说明",
    left: (n) => (n ? `还有 ${n} 个问题没有回答` : "所有问题都已回答"),
    saved: "已保存", saving: "正在保存…", offline: (n) => `没有连接：${n} 条待发送，已存在本浏览器`,
    pace: (s, h) => `每个对话约 ${s}${h ? `，还需 ${h}` : ""}`,
    done: "全部完成，谢谢。", doneMore: "没有更多对话了，可以关闭本页。",
    closed: "项目已结束，感谢您的标注。", revoked: "这个链接已失效。",
    others: "其他人的回答", own: "您", next: "下一个对话", help: "帮助",
    keys: "按键：1 到 9 回答，↑ ↓ 切换问题，← → 切换答案，退格键取消答案，回车继续。",
    gone: "这个对话已交给别人；下面是另一个。",
  },
};

export function textsIn(language) {
  return TEXTS[language.split("-")[0]] ?? TEXTS.en;
}

// "45 s", "3 min", "2 h": short enough for a line beside the progress.
export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
