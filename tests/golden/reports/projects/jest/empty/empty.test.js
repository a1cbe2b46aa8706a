console.log("no test here");
