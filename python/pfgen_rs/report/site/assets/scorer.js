// Scores answers to one question beside the page, so that typing never waits: in a worker, which can be stopped.
(() => {
  const program = () => new Blob([`"use strict";const answer=(${pfgen.scoring})();onmessage=({data})=>postMessage(answer(data));`],
    { type: "text/javascript" });

  /**
   * Scores answers to a question, given as `scoring.js` takes it. `score(text)` is a promise of the scores, or of
   * `null` if another text has come meanwhile; it fails with `Error("late")` if one takes longer than `patience`
   * (milliseconds). `stop()` frees its memory until the next text.
   */
  pfgen.scorer = (question, patience = 5000) => {
    let worker = null;
    let leave = null; // ends the wait for a reply, with nothing
    let last = Promise.resolve(); // promise of the scores of the text before
    let wanted = 0; // texts that were asked for

    const end = () => {
      worker?.terminate();
      worker = null;
      leave?.();
    };

    /** The reply to a message. */
    const asked = (message, most) => new Promise((resolve, reject) => {
      const failed = (reason) => {
        reject(new Error(reason));
        end();
      };
      const timer = most && setTimeout(failed, most, "late");
      leave = () => {
        clearTimeout(timer);
        resolve(null);
      };
      worker.onmessage = ({ data }) => {
        clearTimeout(timer);
        resolve(data);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        failed(event.message ?? "worker");
      };
      worker.postMessage(message);
    });

    const scored = async (text, own) => {
      if (own !== wanted) return null;
      if (!worker) {
        const address = URL.createObjectURL(program());
        worker = new Worker(address);
        await asked({ question });
        URL.revokeObjectURL(address); // it has been read
      }
      return worker && asked({ text }, patience); // unless it was stopped
    };

    const score = (text) => {
      const own = (wanted += 1);
      const next = () => scored(text, own);
      last = last.then(next, next);
      return last;
    };

    const stop = () => {
      wanted += 1;
      end();
    };

    return { score, stop };
  };
})();
