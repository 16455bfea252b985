// A model endpoint for tests: as much of the OpenAI chat API as a coding agent needs, on loopback.
// It answers from a script and asks nobody.
//
//   node model_endpoint.mjs SCRIPT LOG
//
// SCRIPT is JSON: {MODEL: [ANSWER...]}. The n-th request of a conversation gets the n-th answer:
//   {"text": "..."}                              words, streamed one at a time
//   {"tool": NAME, "arguments": {...}}           a call of one of the agent's tools
//   {"hang": true}                               one word, and then silence
// Every request is appended to LOG, one JSON object a line. Says "port N" on standard output once it
// listens; ends when standard input does.
import fs from "node:fs";
import http from "node:http";

const [scriptFile, logFile] = process.argv.slice(2);
const script = JSON.parse(fs.readFileSync(scriptFile, "utf8"));

function events(response) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  return (value) => response.write(`data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`);
}

function chunk(model, delta, finish = null) {
  return {
    id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model,
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

function stream(answer, model, turn, response) {
  const send = events(response);
  const end = (finish) => {
    send({ ...chunk(model, {}, finish), usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } });
    send("[DONE]");
    response.end();
  };
  send(chunk(model, { role: "assistant", content: "" }));
  if (answer.hang) {
    send(chunk(model, { content: "Hm" }));  // and the connection stays open
  } else if (answer.tool) {
    const text = JSON.stringify(answer.arguments);
    const half = Math.ceil(text.length / 2);
    const call = (call) => send(chunk(model, { tool_calls: [{ index: 0, ...call }] }));
    call({ id: `call_${turn}`, type: "function", function: { name: answer.tool, arguments: "" } });
    call({ function: { arguments: text.slice(0, half) } });
    call({ function: { arguments: text.slice(half) } });
    end("tool_calls");
  } else {
    for (const word of answer.text.match(/\S+\s*/g)) send(chunk(model, { content: word }));
    end("stop");
  }
}

function answer(request, response, body) {
  const refuse = (status, message) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message, type: "invalid_request_error" } }));
  };
  if (request.method !== "POST" || !request.url.endsWith("/chat/completions")) {
    return refuse(404, `no ${request.method} ${request.url} here`);
  }
  const asked = JSON.parse(body);
  fs.appendFileSync(logFile, JSON.stringify({
    authorization: request.headers.authorization ?? null, ...asked }) + "\n");
  // An agent also asks for a headline of the conversation; that request brings no tools.
  if (!asked.tools?.length) return stream({ text: "A headline" }, asked.model, 0, response);
  const turn = asked.messages.filter((message) => message.role === "tool").length;
  const next = script[asked.model]?.[turn];
  if (!next) return refuse(400, `the script has no answer ${turn} for '${asked.model}'`);
  if (!asked.stream) return refuse(400, "only streamed answers are spoken here");
  stream(next, asked.model, turn, response);
}

const server = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => answer(request, response, Buffer.concat(parts).toString("utf8")));
});
server.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
