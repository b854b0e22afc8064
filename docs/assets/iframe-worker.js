// Browsers start no worker for a page that was opened as a file. There a hidden frame does its work:
// messages go in as events of its window, and what it posts comes out as events of this object.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.onload = () => this.start(address);
      document.documentElement.append(this.frame);
    }

    start(address) {
      this.frame.onload = null;
      this.inside = this.frame.contentWindow;
      this.inside.postMessage = (data) => {
        this.dispatchEvent(new MessageEvent("message", { data }));
      };
      const script = this.inside.document.createElement("script");
      script.src = address;
      script.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.deliver(data));
      };
      this.inside.document.documentElement.append(script);
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.deliver(data);
    }

    deliver(data) {
      this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
