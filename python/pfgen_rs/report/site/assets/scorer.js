// Scores answers to one question beside the page, so that typing never waits: in a worker, which can be stopped.
(() => {
  /** A stand-in where browsers allow no workers. It cannot be stopped, so it gets no regular expressions. */
  const standIn = () => {
    const answer = pfgen.scoring();
    return {
      postMessage(message) {
        const question = message.question && { ...message.question, expressions: false };
        setTimeout(() => this.onmessage({ data: answer(question ? { question } : message) }));
      },
      terminate() {
        this.onmessage = () => {};
      },
    };
  };

  const program = () => `"use strict";const answer=(${pfgen.scoring})();onmessage=({data})=>postMessage(answer(data));`;

  const newWorker = () => {
    const address = URL.createObjectURL(new Blob([program()], { type: "text/javascript" }));
    try {
      return new Worker(address);
    } catch {
      return standIn();
    } finally {
      setTimeout(() => URL.revokeObjectURL(address), 10000); // once it is read
    }
  };

  /**
   * Scores answers to a question, given as `scoring.js` takes it. `score(text)` is a promise of the scores, or of
   * `null` if another text has come meanwhile; it fails with `Error("late")` if one takes longer than `patience`
   * (milliseconds). `stop()` frees its memory until the next text.
   */
  pfgen.scorer = (question, patience = 5000) => {
    let worker = null;
    let isReady = false;
    let current = null; // { text, resolve, reject }: what is being scored
    let next = null; // what comes after it
    let timer = 0;

    const end = () => {
      clearTimeout(timer);
      worker?.terminate();
      worker = null;
    };

    const settle = (name, value) => {
      const settled = current;
      current = null;
      settled?.[name](value);
      begin();
    };

    const fail = (reason) => {
      end();
      settle("reject", new Error(reason));
    };

    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(fail, patience, "late");
    };

    const received = ({ data }) => {
      clearTimeout(timer);
      if (data.ready) isReady = true;
      if (data.scored) settle("resolve", data.scored);
      else if (current) wait();
    };

    /** A worker that could not even begin is replaced; any other error is a fault. */
    const broken = (event) => {
      event.preventDefault?.();
      if (isReady) fail(event.message ?? "worker");
      else start(standIn());
    };

    const start = (made) => {
      isReady = false;
      worker = made;
      worker.onmessage = received;
      worker.onerror = broken;
      worker.postMessage({ question: { expressions: true, ...question } });
      if (current) worker.postMessage({ text: current.text });
    };

    const begin = () => {
      if (current || !next) return;
      [current, next] = [next, null];
      if (!worker) start(newWorker());
      else {
        worker.postMessage({ text: current.text });
        if (isReady) wait();
      }
    };

    const score = (text) => new Promise((resolve, reject) => {
      next?.resolve(null);
      next = { text, resolve, reject };
      begin();
    });

    const stop = () => {
      end();
      next?.resolve(null);
      next = null;
      settle("resolve", null);
    };

    return { score, stop };
  };
})();
